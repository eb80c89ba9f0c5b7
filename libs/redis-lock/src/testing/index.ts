export { attachLocks } from './attach-locks.js';
export { makeBusy } from './make-busy.js';
export { makeLost } from './make-lost.js';
export { RecordingLockService, type RecordedCall } from './recording-lock.service.js';
export { storeContract, type StoreCheck, type StoreUnderTest } from './store-contract.js';
