import type { LockClient } from '../lock/lock-client.js';
import { LockKey } from '../lock/lock-key.js';
import { LockArgumentError } from '../lock/lock.errors.js';

/**
 * Takes a lock away from its holder, as a failover of Redis does: the store no longer has it under this owner, and the
 * next one who asks gets it. When this has settled, `signal` has aborted, and `run` will throw LockLostError with the
 * reason `taken`.
 * @param locks the client through which the key is held, in memory or on Redis.
 * @throws LockArgumentError when nobody holds the key through this client, LockUnavailableError.
 * @example
 * ```ts
 * await locks.run('report', async ({ signal }) => {
 *   await makeLost(locks, 'report');
 *   signal.throwIfAborted();
 * });
 * ```
 */
export async function makeLost(locks: LockClient, key: string | LockKey): Promise<void> {
  const name = LockKey.of(key);
  if (await locks.takeAway(name)) return;
  throw new LockArgumentError(
    `makeLost: nobody holds lock "${name.text}" through this client now; call it while the work under the lock runs.`,
    name.text,
  );
}
