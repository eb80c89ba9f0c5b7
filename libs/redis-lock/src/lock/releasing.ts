import type { ReleaseReply } from '../stores/lock-store.js';
import { backoffDelay } from './backoff.js';
import { elapsedSince, now } from './clock.js';
import type { Attempt, Contender, ContenderParts } from './contender.js';
import type { Lease } from './lease.js';
import { LockUnavailableError } from './lock.errors.js';

/** How giving up a lease ended: as the store answered, or `unknown`. */
export type GiveUpOutcome = ReleaseReply['status'] | 'unknown';

/**
 * Tells the store that a lease is given up, again and again until it answers or `commandTimeout` is over; then the
 * outcome is `unknown` and it is given back in the background. Never rejects. A repeated release that finds nothing
 * counts as released if the lease was still running when the first one was sent: that one freed it.
 * @param successor queued in the same step. It hears the answer, or asks by itself.
 * @param over is told of the outcome before the successor hears the answer.
 */
export function giveUp(
  parts: ContenderParts,
  lease: Lease,
  minHoldMs: number,
  successor: Contender | undefined,
  over: (outcome: GiveUpOutcome) => void,
): Promise<GiveUpOutcome> {
  return new GivingUp(parts, lease, minHoldMs, successor, over).attempt(0);
}

class GivingUp {
  private readonly started = now();
  private readonly wasHeld: boolean;
  private mayHaveFreedIt = false;

  constructor(
    private readonly parts: ContenderParts,
    private readonly lease: Lease,
    private readonly minHoldMs: number,
    private readonly successor: Contender | undefined,
    private readonly over: (outcome: GiveUpOutcome) => void,
  ) {
    this.wasHeld = lease.remainingMs > 0;
  }

  attempt(count: number): Promise<GiveUpOutcome> {
    const left = this.parts.settings.commandTimeoutMs - elapsedSince(this.started);
    if (left <= 0) return this.later();
    const { key, member, token, share } = this.lease;
    const { minHoldMs, successor } = this;
    const next = successor?.asSuccessor();
    const reply = this.parts.store.release({ key, member, token, share, minHoldMs, successor: next?.successor });
    const late = (): Error => new LockUnavailableError(key, 'the release was not answered');
    return this.parts.deadlines.limit(reply, left, late).then(
      (answer) => {
        const isOurs = answer.status === 'lost' && this.mayHaveFreedIt && this.wasHeld;
        const outcome = isOurs ? 'released' : answer.status;
        this.over(outcome);
        if (next) successor?.heard(next.attempt, answer.successor);
        return outcome;
      },
      async (error: unknown) => {
        if (next && successor) follow(reply, successor, next.attempt);
        if (next) successor?.overdue(next.attempt, error);
        if (error instanceof LockUnavailableError && !error.retryable) return this.later();
        if (!(error instanceof LockUnavailableError) || error.mayHaveRun) this.mayHaveFreedIt = true;
        await this.pause(count);
        return this.attempt(count + 1);
      },
    );
  }

  private async pause(count: number): Promise<void> {
    const { backoff, commandTimeoutMs } = this.parts.settings;
    const left = Math.max(0, commandTimeoutMs - elapsedSince(this.started));
    await new Promise((resolve) => setTimeout(resolve, Math.min(backoffDelay(count, backoff), left)));
  }

  private later(): Promise<'unknown'> {
    const { key, member, token, share, leaseMs } = this.lease;
    this.parts.giveBack.add({ key, member, token, share, minHoldMs: this.minHoldMs, leaseMs });
    this.over('unknown');
    return Promise.resolve('unknown');
  }
}

/** The successor hears the answer, however late. */
function follow(reply: Promise<ReleaseReply>, successor: Contender, attempt: Attempt): void {
  reply.then(
    (answer) => successor.heard(attempt, answer.successor),
    (error: unknown) => successor.unheard(attempt, error),
  );
}
