import { attachLockService } from '../decorators/locked-method.js';
import type { LockClient } from '../lock/lock-client.js';

/**
 * Gives an instance that Nest did not build (`new OrderService(…)` in a unit test, a `useFactory`) the client of its
 * `@Locked` methods.
 * @returns the instance.
 * @throws LockArgumentError when its class has no locked method.
 * @example
 * ```ts
 * const orders = attachLocks(new OrderService(repository), createLockClient({ store: 'memory' }));
 * ```
 */
export function attachLocks<T extends object>(instance: T, locks: LockClient): T {
  attachLockService(instance, locks);
  return instance;
}
