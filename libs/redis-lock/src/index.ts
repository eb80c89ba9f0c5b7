export { createLockClient, type LockClientOptions } from './create-lock-client.js';
export { CronLocked, type CronLockedOptions } from './decorators/cron-locked.decorator.js';
export { LockedHandler, type LockedHandlerOptions } from './decorators/locked-handler.decorator.js';
export type { ReturnKind } from './decorators/locked-kinds.js';
export { Locked, type LockedDecorator, type LockedOptions } from './decorators/locked.decorator.js';
export type { MethodKey } from './decorators/method-key.js';
export { LockHttpException } from './interceptors/lock-http.interceptor.js';
export { currentLock } from './lock/current-lock.js';
export type { Duration } from './lock/duration.js';
export { LockClient, type LockedWork, type TryRunResult } from './lock/lock-client.js';
export { LockAccess, type AccessOptions } from './lock/lock-access.js';
export type { LockEventEmitter, LockEvents, LockLogger } from './lock/lock-events.js';
export { LockHandle, type ReleaseOutcome } from './lock/lock-handle.js';
export { LockKey, lockKey, type KeyValue } from './lock/lock-key.js';
export { DEFAULTS, type LockDefaults, type LockOptions, type ReplicaOptions } from './lock/lock-options.js';
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
export { ReadWriteLock, type ReadWriteState } from './lock/read-write-lock.js';
export { Semaphore, type PermitOptions, type SemaphoreState } from './lock/semaphore.js';
export { LockService } from './module/lock.service.js';
export { RedisLockModule } from './module/redis-lock.module.js';
export type { RedisLockModuleOptions, RedisLockOptionsFactory } from './module/redis-lock.module-definition.js';
export * from './stores/lock-store.js';
export { MemoryLockStore } from './stores/memory/memory.store.js';
export type {
  RedisClientLike,
  RedisClusterClientLike,
  RedisClusterNodes,
  RedisClusterSource,
  RedisConnectionSource,
  RedisServerSource,
} from './stores/redis/redis-options.js';
