import { GRANT_CONFIRM_MS, type ReplicaDemand, type Share } from '../stores/lock-store.js';
import { driftOf, elapsedSince, type Moment } from './clock.js';
import type { Hold } from './hold.js';
import type { Watched } from './watchdog.js';

/**
 * What the store has given to one member, and until when it is certain to be ours. Its deadline is computed from the
 * clock each time, and counts from before the command was sent that set it. A lease outlives a hold where it is handed
 * over.
 */
export class Lease {
  /** Who works under it now. */
  hold: Hold | undefined;
  /** What the watchdog knows of it. */
  watched: Watched | undefined;
  /** Set by who got it: called when it is given back or lost. */
  whenEnded: (() => void) | undefined;
  /** What its replicas have acknowledged. */
  replicas: ReplicaDemand | undefined;
  /** The answer that set it last: tells on how many servers it is. */
  reply: { readonly nodes?: number } | undefined;
  /** How often it was handed over in this process. */
  handOvers = 0;
  /** When this process got it, in ms of the monotonic clock. */
  readonly since = performance.now();

  constructor(
    readonly key: string,
    readonly member: string,
    /** Under which the store knows it; the numbers after it are given out at hand-overs. */
    readonly token: number,
    /** When the command that set it was sent: the lease cannot have begun earlier. */
    private from: Moment,
    /** The length that was set last, in ms. */
    public leaseMs: number,
    /** Whether the store keeps it for its whole length; a grant is void if nobody renews it. */
    public confirmed = true,
    /** What it is a lease of; absent: the whole lock. */
    public share?: Share,
  ) {}

  /** A grant that was told. `from` is when the newest command was sent that the store answered with *not yours*. */
  static ofGrant(key: string, member: string, token: number, from: Moment, share?: Share): Lease {
    return new Lease(key, member, token, from, GRANT_CONFIRM_MS, false, share);
  }

  /** How long it is certain to run, in ms. */
  get remainingMs(): number {
    return Math.max(0, this.leaseMs - driftOf(this.leaseMs) - elapsedSince(this.from));
  }

  get nodes(): number {
    return this.reply?.nodes ?? 1;
  }

  /** The store confirmed it in answer to a command sent at `from`. It can only move the deadline back. */
  renewed(from: Moment, reply: { readonly remainingMs: number; readonly nodes?: number }): void {
    const { remainingMs: leaseMs } = reply;
    this.confirmed = true;
    this.reply = reply;
    const gained = leaseMs - driftOf(leaseMs) - elapsedSince(from);
    if (gained <= this.remainingMs) return;
    this.from = from;
    this.leaseMs = leaseMs;
  }
}
