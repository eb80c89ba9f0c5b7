export { createLockClient, type LockClientOptions } from './create-lock-client.js';
export { currentLock } from './lock/current-lock.js';
export type { Duration } from './lock/duration.js';
export { LockClient, type LockedWork, type TryRunResult } from './lock/lock-client.js';
export type { LockEventEmitter, LockEvents, LockLogger } from './lock/lock-events.js';
export { LockHandle, type ReleaseOutcome } from './lock/lock-handle.js';
export { LockKey, lockKey, type KeyValue } from './lock/lock-key.js';
export { DEFAULTS, type LockDefaults, type LockOptions } from './lock/lock-options.js';
export {
  isLockError,
  LockAbortedError,
  LockArgumentError,
  LockBusyError,
  LockError,
  LockLostError,
  LockShutdownError,
  LockTimeoutError,
  LockUnavailableError,
  type LockErrorCode,
  type LockHolder,
  type LockLossReason,
} from './lock/lock.errors.js';
export type * from './stores/lock-store.js';
export { MemoryLockStore } from './stores/memory/memory.store.js';
