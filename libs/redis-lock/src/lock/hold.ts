import { driftOf, elapsedSince, now, type Moment } from './clock.js';
import type { LockKey } from './lock-key.js';
import type { LockSettings } from './lock-settings.js';
import { LockLostError, type LockLossReason } from './lock.errors.js';

/** What a hold tells its client. */
export interface HoldOwner {
  /** The hold has just been lost. */
  onLost(hold: Hold, error: LockLostError): void;
}

/**
 * One lock that this process has in the store, shared by every scope that entered it. Its validity is computed from the
 * clock each time, so that it is right even where a starved event loop has not run the timers yet.
 */
export class Hold {
  /** How many scopes are inside; the last one that ends gives the lock back. */
  entries = 0;
  minHoldMs: number;
  private state: 'held' | 'lost' | 'ended' = 'held';
  private loss: LockLostError | undefined;
  private readonly lossListeners = new Set<(error: LockLostError) => void>();

  /**
   * @param leaseFrom when the command that set the lease was sent: the lease cannot have begun earlier.
   */
  constructor(
    readonly owner: HoldOwner,
    readonly key: LockKey,
    readonly member: string,
    readonly token: number,
    readonly settings: LockSettings,
    private leaseFrom: Moment,
    /** The lease that was set last, in ms. */
    public leaseMs: number,
  ) {
    this.minHoldMs = settings.minHoldMs;
  }

  readonly acquiredAt = now();

  get heldMs(): number {
    return elapsedSince(this.acquiredAt);
  }

  /** How long the lease is certain to run, in ms; 0 when the lock is lost or given back. */
  get remainingMs(): number {
    if (this.state !== 'held') return 0;
    return Math.max(0, this.leaseMs - driftOf(this.leaseMs) - elapsedSince(this.leaseFrom));
  }

  /** Set once the lock is lost. Looking at it notices a lease that has ended before any timer does. */
  get lost(): LockLostError | undefined {
    if (this.state === 'held' && this.remainingMs === 0) this.lose('expired');
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

  /** The store confirmed a lease of `leaseMs` to a command sent at `from`. It can only move the deadline back. */
  renewed(from: Moment, leaseMs: number): void {
    const gained = leaseMs - driftOf(leaseMs) - elapsedSince(from);
    if (this.state !== 'held' || gained <= this.remainingMs) return;
    this.leaseFrom = from;
    this.leaseMs = leaseMs;
  }

  lose(reason: LockLossReason, cause?: unknown): void {
    if (this.state !== 'held') return;
    this.state = 'lost';
    this.loss = new LockLostError(this.key.text, reason, this.token, { cause });
    this.owner.onLost(this, this.loss);
    for (const listener of this.lossListeners) listener(this.loss);
    this.lossListeners.clear();
  }

  /** Nobody uses it any more; what is left is to tell the store. */
  end(): void {
    if (this.state === 'held') this.state = 'ended';
    this.lossListeners.clear();
  }

  /** Calls back at the loss, or at once where that has been; returns what takes it back. */
  onLost(listener: (error: LockLostError) => void): () => void {
    if (this.loss) listener(this.loss);
    else this.lossListeners.add(listener);
    return () => this.lossListeners.delete(listener);
  }
}
