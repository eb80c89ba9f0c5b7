import type { LockStore, Share } from '../stores/lock-store.js';
import { backoffDelay, type BackoffRange } from './backoff.js';
import { elapsedSince, now } from './clock.js';
import type { Deadlines } from './deadlines.js';
import { LockUnavailableError } from './lock.errors.js';
import { runOutsideScopes } from './scope.js';

/** Something that the store may have in our name although nobody wants it any more. */
interface Leftover {
  readonly key: string;
  readonly member: string;
  readonly token?: number;
  readonly share: Share | undefined;
  readonly minHoldMs: number;
  /** After this long it has ended by itself, in ms. */
  readonly leaseMs: number;
}

/**
 * Gives back in the background what an abandoned acquire or an unanswered release may have left in the store. It tries
 * until the store answers or the lease must have ended.
 */
export class GiveBack {
  private readonly running = new Set<Promise<void>>();
  private stopped = false;

  constructor(
    private readonly store: LockStore,
    private readonly deadlines: Deadlines,
    private readonly commandTimeoutMs: number,
    private readonly backoff: BackoffRange,
  ) {}

  add(leftover: Leftover): void {
    if (this.stopped) return;
    const task = runOutsideScopes(() => this.giveBack(leftover)).finally(() => this.running.delete(task));
    this.running.add(task);
  }

  /** Lets the attempts that are on their way end, and makes no more. */
  async stop(): Promise<void> {
    this.stopped = true;
    await Promise.all(this.running);
  }

  private async giveBack({ key, member, token, share, minHoldMs, leaseMs }: Leftover): Promise<void> {
    const since = now();
    for (let attempt = 0; elapsedSince(since) < leaseMs + this.commandTimeoutMs; attempt++) {
      if (attempt > 0 && this.stopped) return;
      try {
        const released = this.store.release({
          key,
          member,
          share,
          minHoldMs,
          ...(token === undefined ? {} : { token }),
        });
        const late = (): Error => new LockUnavailableError(key, 'the release was not answered');
        await this.deadlines.limit(released, this.commandTimeoutMs, late);
        return;
      } catch (error) {
        if (this.stopped || (error instanceof LockUnavailableError && !error.retryable)) return;
        await new Promise((resolve) => setTimeout(resolve, backoffDelay(attempt, this.backoff)).unref());
      }
    }
  }
}
