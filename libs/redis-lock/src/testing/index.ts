export { attachLocks } from './attach-locks.js';
export { storeContract, type StoreCheck, type StoreUnderTest } from './store-contract.js';
