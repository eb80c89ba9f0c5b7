import type { LockClient } from '../lock/lock-client.js';
import type { LockHandle } from '../lock/lock-handle.js';
import { LockKey } from '../lock/lock-key.js';
import type { LockOptions } from '../lock/lock-options.js';
import { LockArgumentError } from '../lock/lock.errors.js';

/**
 * Lets somebody else hold a key, as another node would, until the handle is released: who asks with `wait: 0` gets
 * LockBusyError, who waits gets the lock after the release. The lease is that of the client and is renewed.
 * @param locks any client, in memory or on Redis.
 * @param kind of a semaphore how many permits there are and are taken, `{ permits: 3, take: 3 }`; of a read/write lock
 * `{ mode: 'write' }`. Default: a plain lock.
 * @returns the lock of that somebody; `await using` frees the key at the end of the block.
 * @throws LockBusyError when the key is held already, LockArgumentError for a wrong key and where `enabled` is false,
 * LockShutdownError, LockUnavailableError.
 * @example
 * ```ts
 * await using _ = await makeBusy(locks, 'order:7:9');
 * await expect(orders.buy(7, 9)).rejects.toThrow(LockBusyError);
 * ```
 */
export async function makeBusy(
  locks: LockClient,
  key: string | LockKey,
  kind: Pick<LockOptions, 'permits' | 'take' | 'mode'> = {},
): Promise<LockHandle> {
  const name = LockKey.of(key);
  const busy = await locks
    .stranger()
    .acquire(name, { ...kind, wait: 0, renew: true, minHold: 0, maxHold: Infinity, replicas: false });
  if (await locks.isLocked(name)) return busy;
  throw new LockArgumentError(
    `makeBusy: lock "${name.text}" cannot be busy, because "enabled" is false and everybody is let through.`,
    name.text,
  );
}
