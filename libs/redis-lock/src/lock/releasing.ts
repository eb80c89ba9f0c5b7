import type { ReleaseReply } from '../stores/lock-store.js';
import { backoffDelay } from './backoff.js';
import { elapsedSince, now } from './clock.js';
import type { Attempt, Contender, ContenderParts } from './contender.js';
import type { Lease } from './lease.js';
import { LockUnavailableError } from './lock.errors.js';
import { withTimeout } from './timeout.js';

/**
 * Tells the store that a lease is given up, again and again until it answers or `commandTimeout` is over; then the
 * outcome is `unknown` and it is given back in the background. Never throws. A repeated release that finds nothing counts
 * as released if the lease was still running when the first one was sent: that one freed it.
 * @param successor queued in the same step. It hears the answer, or asks by itself.
 */
export async function giveUp(
  { store, settings, giveBack }: ContenderParts,
  lease: Lease,
  minHoldMs: number,
  successor?: Contender,
): Promise<ReleaseReply['status'] | 'unknown'> {
  const { key, member, token } = lease;
  const started = now();
  const wasHeld = lease.remainingMs > 0;
  let mayHaveFreedIt = false;
  try {
    for (let attempt = 0; ; attempt++) {
      const left = settings.commandTimeoutMs - elapsedSince(started);
      if (left <= 0) break;
      const next = successor?.asSuccessor();
      try {
        const reply = store.release({ key, member, token, minHoldMs, ...(next ? { successor: next.successor } : {}) });
        if (successor && next) follow(reply, successor, next.attempt);
        const late = (): Error => new LockUnavailableError(key, 'the release was not answered');
        const { status } = await withTimeout(reply, left, late);
        return status === 'lost' && mayHaveFreedIt && wasHeld ? 'released' : status;
      } catch (error) {
        if (next) successor?.overdue(next.attempt, error);
        if (error instanceof LockUnavailableError && !error.retryable) break;
        if (!(error instanceof LockUnavailableError) || error.mayHaveRun) mayHaveFreedIt = true;
        const pause = backoffDelay(attempt, settings.backoff);
        const untilBound = Math.max(0, settings.commandTimeoutMs - elapsedSince(started));
        await new Promise((resolve) => setTimeout(resolve, Math.min(pause, untilBound)));
      }
    }
    giveBack.add({ key, member, token, minHoldMs, leaseMs: lease.leaseMs });
    return 'unknown';
  } finally {
    lease.whenEnded?.();
  }
}

/** The successor hears the answer to its end, however late. */
function follow(reply: Promise<ReleaseReply>, successor: Contender, attempt: Attempt): void {
  reply.then(
    (answer) => successor.heard(attempt, answer.successor),
    (error: unknown) => successor.unheard(attempt, error),
  );
}
