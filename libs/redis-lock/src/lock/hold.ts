import type { Link } from './chain.js';
import { elapsedSince, now } from './clock.js';
import type { Lease } from './lease.js';
import type { LocalGate } from './local-gate.js';
import type { LockKey } from './lock-key.js';
import type { LockSettings } from './lock-settings.js';
import { LockLostError, type LockLossReason } from './lock.errors.js';

/** What a hold tells its client. */
export interface HoldOwner {
  /** The hold has just been lost. */
  onLost(hold: Hold, error: LockLostError): void;
}

/**
 * One lock that a caller of this process has, shared by every scope that entered it. Its validity is that of its lease,
 * computed from the clock each time, so that it is right even where a starved event loop has not run the timers yet.
 */
export class Hold {
  /** How many scopes are inside; the last one that ends gives the lock back. */
  entries = 0;
  minHoldMs: number;
  /** How many commands that set its lease are on their way. */
  extending = 0;
  /** Where the next caller is told, as long as this process holds the lock, and its place among all holds. */
  gate: LocalGate | undefined;
  link: Link<Hold> | undefined;
  readonly acquiredAt = now();
  private state: 'held' | 'lost' | 'ended' = 'held';
  private loss: LockLostError | undefined;
  private lossListeners: Set<(error: LockLostError) => void> | undefined;

  constructor(
    readonly owner: HoldOwner,
    readonly key: LockKey,
    readonly lease: Lease,
    /** The fencing token of this hold: the lease's, or one of those that are reserved with it. */
    readonly token: number,
    readonly settings: LockSettings,
  ) {
    this.minHoldMs = settings.minHoldMs;
  }

  get heldMs(): number {
    return elapsedSince(this.acquiredAt);
  }

  /** How long the lock is certain to be ours, in ms; 0 when it is lost or given back. */
  get remainingMs(): number {
    if (this.state !== 'held') return 0;
    return Math.max(0, Math.min(this.lease.remainingMs, this.settings.maxHoldMs - this.heldMs));
  }

  /** Set once the lock is lost. Looking at it notices a lease that has ended before any timer does. */
  get lost(): LockLostError | undefined {
    if (this.state === 'held' && this.remainingMs === 0) this.lose(this.lease.remainingMs > 0 ? 'maxHold' : 'expired');
    return this.loss;
  }

  /** @throws LockLostError */
  throwIfLost(): void {
    if (this.lost) throw this.lost;
  }

  /** Whether the loss has been noticed; unlike {@link lost} it does not look at the clock. */
  get isLost(): boolean {
    return this.state === 'lost';
  }

  lose(reason: LockLossReason, cause?: unknown): void {
    if (this.state !== 'held') return;
    this.state = 'lost';
    this.loss = new LockLostError(this.key.text, reason, this.token, { cause });
    this.owner.onLost(this, this.loss);
    for (const listener of this.lossListeners ?? []) listener(this.loss);
    this.lossListeners = undefined;
  }

  /** Nobody uses it any more; what is left is to tell the store. */
  end(): void {
    if (this.state === 'held') this.state = 'ended';
    this.lossListeners = undefined;
  }

  /** Calls back at the loss, or at once where that has been; returns what takes it back. */
  onLost(listener: (error: LockLostError) => void): () => void {
    if (this.loss) listener(this.loss);
    else (this.lossListeners ??= new Set()).add(listener);
    return () => this.lossListeners?.delete(listener);
  }
}
