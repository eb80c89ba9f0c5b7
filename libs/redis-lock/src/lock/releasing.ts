import type { LockStore, ReleaseReply } from '../stores/lock-store.js';
import { backoffDelay, type BackoffRange } from './backoff.js';
import { elapsedSince, now } from './clock.js';
import type { Hold } from './hold.js';
import { LockUnavailableError } from './lock.errors.js';
import { withTimeout } from './timeout.js';

/**
 * Tells the store that a hold has ended, again and again until it answers or `boundMs` are over; then the outcome is
 * `unknown`. Never throws. A repeated release that finds nothing counts as released if the lease was still running when
 * the first one was sent: that one freed it.
 */
export async function releaseHold(
  store: LockStore,
  hold: Hold,
  boundMs: number,
  backoff: BackoffRange,
): Promise<ReleaseReply | 'unknown'> {
  const started = now();
  const wasHeld = hold.remainingMs > 0;
  const command = { key: hold.key.text, member: hold.member, token: hold.token, minHoldMs: hold.minHoldMs };
  let mayHaveFreedIt = false;
  for (let attempt = 0; ; attempt++) {
    const left = boundMs - elapsedSince(started);
    if (left <= 0) return 'unknown';
    try {
      const reply = await withTimeout(
        store.release(command),
        left,
        () => new LockUnavailableError(command.key, 'the release was not answered'),
      );
      return reply === 'lost' && mayHaveFreedIt && wasHeld ? 'released' : reply;
    } catch (error) {
      if (error instanceof LockUnavailableError && !error.retryable) return 'unknown';
      if (!(error instanceof LockUnavailableError) || error.mayHaveRun) mayHaveFreedIt = true;
      const pause = Math.min(backoffDelay(attempt, backoff), Math.max(0, boundMs - elapsedSince(started)));
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
  }
}
