import type { LockAccess } from 'nestjs-redis-lock';
import { waitFor } from '../support/wait-for.js';

/**
 * Each waits for the other once, so that both have their inbox open and nothing under way: who does not listen yet is
 * passed over. `all` are the options with which one of them takes everything.
 */
export async function haveListened(
  inspect: () => Promise<{ readonly queued: number }>,
  one: LockAccess,
  other: LockAccess,
  all: object = {},
): Promise<void> {
  for (const [holder, waiter] of [
    [one, other],
    [other, one],
  ] as const) {
    const lock = await holder.acquire(all);
    const waiting = waiter.acquire({ wait: '50s', ...all });
    await waitFor(async () => (await inspect()).queued === 1);
    await lock.release();
    await (await waiting).release();
  }
}
