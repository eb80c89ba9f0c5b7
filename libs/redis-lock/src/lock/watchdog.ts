import type { LockStore } from '../stores/lock-store.js';
import { Chain, type Link } from './chain.js';
import { now } from './clock.js';
import { LINGER_MS } from './deadlines.js';
import type { Hold } from './hold.js';
import type { Lease } from './lease.js';
import { LONG_HOLD_MS } from './lock-options.js';
import { leaseOf, type LockSettings } from './lock-settings.js';
import { LockUnavailableError } from './lock.errors.js';
import { runOutsideScopes } from './scope.js';

/** What the watchdog knows of one lease; moments are ms of the monotonic clock. */
export interface Watched {
  readonly link: Link<Lease>;
  renewAt: number;
  failing: boolean;
  /** The renewal that is on its way. */
  pending: symbol | undefined;
  warnAt: number;
  giveUpAt: number;
}

export interface WatchdogListener {
  /** A renewal failed or was not answered; it is tried again. Called once until one succeeds. */
  onRenewalFailed(hold: Hold, cause: unknown): void;
  onHeldLong(hold: Hold): void;
}

/** Longest and shortest pause before a renewal that failed is tried again, in ms. */
const RETRY_MS = { min: 20, max: 1_000 };

/** So many renewals leave at once; those that are left follow when the event loop has seen to other things. */
const TOGETHER = 500;

/** How long after a grant it is confirmed at the latest, in ms. */
const CONFIRM_AFTER_MS = 1_000;

/**
 * Keeps the leases of all holds of a client with one timer. A lease is renewed after a third of it; a renewal that
 * fails is tried again until the local deadline, where the hold is lost. Fixed leases are watched for their deadline
 * only, once a grant is confirmed. The timer is not cleared with the last lease, which would cost as much as a lock does:
 * it does not keep the process alive, and ends by itself within a second.
 */
export class Watchdog {
  private readonly leases = new Chain<Lease>();
  private timer: NodeJS.Timeout | undefined;
  private wakeAt = Infinity;
  /** Where the timer is from: a test may change to fake timers and back, and the old ones do not fire then. */
  private timers = setTimeout;

  constructor(
    private readonly store: LockStore,
    private readonly listener: WatchdogListener,
  ) {}

  watch(lease: Lease, { settings }: Hold): void {
    const at = performance.now();
    const watched: Watched = {
      link: this.leases.add(lease),
      renewAt: lease.confirmed ? renewalOf(settings, at) : confirmationOf(lease, settings, at),
      failing: false,
      pending: undefined,
      warnAt: warningOf(settings, at),
      giveUpAt: at + settings.maxHoldMs,
    };
    lease.watched = watched;
    this.wakeBy(nextOf(lease, watched));
  }

  unwatch(lease: Lease): void {
    lease.watched?.link.remove();
    lease.watched = undefined;
  }

  close(): void {
    clearTimeout(this.timer);
  }

  /** The lease has a new holder, who asked for the same one. */
  handedOver(lease: Lease): void {
    const { watched, hold } = lease;
    if (!watched || !hold) return;
    const { settings } = hold;
    const at = performance.now();
    watched.warnAt = warningOf(settings, at);
    watched.giveUpAt = at + settings.maxHoldMs;
    this.wakeBy(watched.giveUpAt);
  }

  /** The lease was set by somebody else than the watchdog; the next renewal is due a third of the lease later. */
  leaseChanged(lease: Lease): void {
    const { watched, hold } = lease;
    if (!watched || !hold) return;
    watched.renewAt = renewalOf(hold.settings, performance.now());
    this.wakeBy(nextOf(lease, watched));
  }

  private wakeBy(at: number): void {
    if (at >= this.wakeAt && this.timers === setTimeout) return;
    this.wakeAt = at;
    clearTimeout(this.timer);
    this.sleep();
  }

  private sleep(): void {
    const ms = Math.min(LINGER_MS, Math.max(1, Math.ceil(this.wakeAt - performance.now())));
    this.timers = setTimeout;
    runOutsideScopes(() => {
      this.timer = setTimeout(() => this.wake(), ms).unref();
    });
  }

  private wake(): void {
    if (this.leases.size > 0 && performance.now() < this.wakeAt) return this.sleep();
    this.wakeAt = Infinity;
    if (this.leases.size > 0) this.tick();
  }

  private tick(): void {
    const at = performance.now();
    const due: Lease[] = [];
    let next = Infinity;
    for (const lease of this.leases) {
      const { hold, watched } = lease;
      if (!hold || !watched || hold.lost) continue;
      if (watched.giveUpAt <= at) {
        hold.lose('maxHold');
        continue;
      }
      if (watched.warnAt <= at) {
        watched.warnAt = Infinity;
        this.listener.onHeldLong(hold);
      }
      // What is due soon goes along, so that the locks of a process wake it a few times in each third of a lease.
      const soon = watched.pending ? 0 : hold.settings.ttlMs / 30;
      if (due.length < TOGETHER && watched.renewAt <= at + soon) {
        this.retryLater(hold, watched, at);
        due.push(lease);
      }
      next = Math.min(next, nextOf(lease, watched));
    }
    if (due.length > 0) this.renew(due);
    if (next !== Infinity) this.wakeBy(next);
  }

  private retryLater(hold: Hold, watched: Watched, at: number): void {
    if (watched.pending)
      this.failed(hold, watched, new LockUnavailableError(hold.key.text, 'a renewal was not answered'));
    watched.renewAt = at + Math.min(RETRY_MS.max, Math.max(RETRY_MS.min, hold.settings.ttlMs / 15));
  }

  private renew(due: readonly Lease[]): void {
    const sent = now();
    const replies = this.store.renew(
      due.map((lease) => {
        const { key, member, token, share, hold } = lease;
        return { key, member, token, share, leaseMs: renewedLease(lease, hold) };
      }),
    );
    due.forEach((lease, index) => {
      const attempt = Symbol('renewal');
      const { watched } = lease;
      if (watched) watched.pending = attempt;
      replies[index]?.then(
        (answer) => {
          if (!watched || lease.watched !== watched) return;
          if (answer.status === 'gone') return lease.hold?.lose('taken');
          lease.renewed(sent, answer);
          watched.failing = false;
          watched.pending = undefined;
          this.leaseChanged(lease);
        },
        (error: unknown) => {
          if (!watched || lease.watched !== watched || watched.pending !== attempt) return;
          watched.pending = undefined;
          if (lease.hold) this.failed(lease.hold, watched, error);
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

function renewalOf({ renew, ttlMs }: LockSettings, at: number): number {
  return renew ? at + ttlMs / 3 : Infinity;
}

/** A fixed lease begins at once. */
function confirmationOf(lease: Lease, { renew }: LockSettings, at: number): number {
  return renew ? at + Math.min(CONFIRM_AFTER_MS, lease.remainingMs / 2) : at;
}

function renewedLease({ confirmed }: Lease, hold: Hold | undefined): number {
  if (!hold) return 1;
  return confirmed ? hold.settings.ttlMs : leaseOf(hold.settings);
}

function warningOf({ maxHoldMs }: LockSettings, at: number): number {
  return maxHoldMs === Infinity ? at + LONG_HOLD_MS : Infinity;
}

function nextOf(lease: Lease, { renewAt, warnAt, giveUpAt }: Watched): number {
  return Math.min(performance.now() + lease.remainingMs, renewAt, warnAt, giveUpAt);
}
