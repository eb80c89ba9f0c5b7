import type { LockStore } from '../stores/lock-store.js';
import { now } from './clock.js';
import type { Hold } from './hold.js';
import { LONG_HOLD_MS } from './lock-options.js';
import { LockUnavailableError } from './lock.errors.js';
import { runOutsideScopes } from './scope.js';

/** What the watchdog knows of one hold; moments are ms of the monotonic clock. */
interface Watched {
  renewAt: number;
  failing: boolean;
  /** The renewal that is on its way. */
  pending: symbol | undefined;
  warnAt: number;
  readonly giveUpAt: number;
}

export interface WatchdogListener {
  /** A renewal failed or was not answered; it is tried again. Called once until one succeeds. */
  onRenewalFailed(hold: Hold, cause: unknown): void;
  onHeldLong(hold: Hold): void;
}

/** Longest and shortest pause before a renewal that failed is tried again, in ms. */
const RETRY_MS = { min: 20, max: 1_000 };

/**
 * Keeps the leases of all holds of a client with one timer. A lease is renewed after a third of it; a renewal that
 * fails is tried again until the local deadline, where the hold is lost. Fixed leases are watched for their deadline
 * only.
 */
export class Watchdog {
  private readonly watched = new Map<Hold, Watched>();
  private timer: NodeJS.Timeout | undefined;
  private wakeAt = Infinity;

  constructor(
    private readonly store: LockStore,
    private readonly listener: WatchdogListener,
  ) {}

  watch(hold: Hold): void {
    const at = performance.now();
    const { renew, ttlMs, maxHoldMs } = hold.settings;
    const watched: Watched = {
      renewAt: renew ? at + ttlMs / 3 : Infinity,
      failing: false,
      pending: undefined,
      warnAt: maxHoldMs === Infinity ? at + LONG_HOLD_MS : Infinity,
      giveUpAt: at + maxHoldMs,
    };
    this.watched.set(hold, watched);
    this.wakeBy(this.nextOf(hold, watched));
  }

  unwatch(hold: Hold): void {
    if (!this.watched.delete(hold) || this.watched.size > 0) return;
    clearTimeout(this.timer);
    this.wakeAt = Infinity;
  }

  /** The lease was set by somebody else than the watchdog; the next renewal is due a third of the lease later. */
  leaseChanged(hold: Hold): void {
    const watched = this.watched.get(hold);
    if (!watched) return;
    if (hold.settings.renew) watched.renewAt = performance.now() + hold.settings.ttlMs / 3;
    this.wakeBy(this.nextOf(hold, watched));
  }

  private nextOf(hold: Hold, watched: Watched): number {
    const deadline = performance.now() + hold.remainingMs;
    return Math.min(deadline, watched.renewAt, watched.warnAt, watched.giveUpAt);
  }

  private wakeBy(at: number): void {
    if (at >= this.wakeAt) return;
    this.wakeAt = at;
    clearTimeout(this.timer);
    runOutsideScopes(() => {
      this.timer = setTimeout(() => this.tick(), Math.max(1, Math.ceil(at - performance.now())));
    });
    this.timer?.unref();
  }

  private tick(): void {
    this.wakeAt = Infinity;
    const at = performance.now();
    const due: Hold[] = [];
    let next = Infinity;
    for (const [hold, watched] of this.watched) {
      if (hold.lost) continue;
      if (watched.giveUpAt <= at) {
        hold.lose('maxHold');
        continue;
      }
      if (watched.warnAt <= at) {
        watched.warnAt = Infinity;
        this.listener.onHeldLong(hold);
      }
      // What is due soon goes along, so that the locks of a process wake it a few times in each third of a lease.
      if (watched.renewAt <= at + hold.settings.ttlMs / 30) {
        this.retryLater(hold, watched, at);
        due.push(hold);
      }
      next = Math.min(next, this.nextOf(hold, watched));
    }
    if (due.length > 0) this.renew(due);
    if (next !== Infinity) this.wakeBy(next);
  }

  private retryLater(hold: Hold, watched: Watched, at: number): void {
    if (watched.pending)
      this.failed(hold, watched, new LockUnavailableError(hold.key.text, 'a renewal was not answered'));
    watched.renewAt = at + Math.min(RETRY_MS.max, Math.max(RETRY_MS.min, hold.settings.ttlMs / 15));
  }

  private renew(due: readonly Hold[]): void {
    const sent = now();
    const replies = this.store.renew(
      due.map(({ key, member, token, settings }) => ({ key: key.text, member, token, leaseMs: settings.ttlMs })),
    );
    due.forEach((hold, index) => {
      const attempt = Symbol('renewal');
      const watched = this.watched.get(hold);
      if (watched) watched.pending = attempt;
      replies[index]?.then(
        (answer) => {
          if (!watched || this.watched.get(hold) !== watched) return;
          if (answer.status === 'gone') return hold.lose('taken');
          hold.renewed(sent, answer.remainingMs);
          watched.failing = false;
          watched.pending = undefined;
          this.leaseChanged(hold);
        },
        (error: unknown) => {
          if (!watched || this.watched.get(hold) !== watched || watched.pending !== attempt) return;
          watched.pending = undefined;
          this.failed(hold, watched, error);
        },
      );
    });
  }

  private failed(hold: Hold, watched: Watched, cause: unknown): void {
    if (watched.failing) return;
    watched.failing = true;
    this.listener.onRenewalFailed(hold, cause);
  }
}
