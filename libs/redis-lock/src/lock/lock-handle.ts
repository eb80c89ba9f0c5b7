import type { Duration } from './duration.js';
import { LockArgumentError, type LockLostError } from './lock.errors.js';
import { runInScope, type LockScope } from './scope.js';

/**
 * How a release ended. `kept`: the work is over, the key stays closed until `minHold` is. `lost`: the lock had ended
 * before. `unknown`: Redis did not answer in time; the lock is given back in the background or ends with its lease.
 */
export type ReleaseOutcome = 'released' | 'kept' | 'lost' | 'unknown';

/** What a handle asks of the client that made it. */
export interface HandleOwner {
  /** Whether the tokens of its store grow with certainty. */
  readonly fences: boolean;
  leave(scope: LockScope): Promise<ReleaseOutcome>;
  extend(scope: LockScope, ttl: Duration | undefined): Promise<void>;
  downgrade(scope: LockScope): Promise<void>;
}

/** One acquisition of a lock, or one entry into a lock that an outer scope holds. */
export class LockHandle implements AsyncDisposable {
  private controller: AbortController | undefined;
  private forgetLoss: (() => void) | undefined;
  private released: Promise<ReleaseOutcome> | undefined;

  /** @internal */
  constructor(
    private readonly scope: LockScope,
    private readonly client: HandleOwner,
  ) {}

  /** The key, as the user named it. */
  get key(): string {
    return this.scope.hold.key.text;
  }

  /**
   * A number that grows with every acquisition of this key, and stays the same when the lock is entered again. Pass it
   * to what is written under the lock and reject a smaller one in the same write.
   * @throws LockArgumentError when the client was made with `fencing: false`.
   * @see https://martin.kleppmann.com/2016/02/08/how-to-do-distributed-locking.html
   */
  get fencingToken(): number {
    if (this.client.fences) return this.scope.hold.token;
    throw new LockArgumentError(
      `Lock "${this.key}": there are no fencing tokens with "fencing: false"; leave that option out.`,
      this.key,
    );
  }

  /** On how many servers the lock is: with `nodes` those that have granted or renewed it, else 1. */
  get nodes(): number {
    return this.scope.hold.lease.nodes;
  }

  /** @internal */
  get token(): number {
    return this.scope.hold.token;
  }

  /** Aborts with LockLostError when the lock is lost. Made when it is first asked for. */
  get signal(): AbortSignal {
    if (!this.controller) {
      const controller = new AbortController();
      this.controller = controller;
      this.forgetLoss = this.scope.hold.onLost((error) => controller.abort(error));
    }
    return this.controller.signal;
  }

  /**
   * Whether the lock is certain to be ours now, by this machine's clock: right even before a starved timer has fired.
   */
  get held(): boolean {
    return this.remaining > 0;
  }

  /** How long the lock is certain to stay ours if nobody renews it, in ms; 0 when it is lost or released. */
  get remaining(): number {
    return this.released || this.scope.hold.lost ? 0 : this.scope.hold.remainingMs;
  }

  /** The loss, once the lock is lost. */
  get lost(): LockLostError | undefined {
    return this.scope.hold.lost;
  }

  /**
   * Checks the lock between two steps of the work.
   * @throws LockLostError when it is lost, LockArgumentError when this handle was released.
   */
  assertHeld(): void {
    this.scope.hold.throwIfLost();
    if (this.released) {
      throw new LockArgumentError(
        `Lock "${this.key}": this handle was released already; acquire the lock again.`,
        this.key,
      );
    }
  }

  /**
   * Sets the lease to `ttl` from now; it does not add, and it never shortens a longer lease.
   * @param ttl ms or a text such as `'10s'`; default: the ttl that the lock was acquired with.
   * @returns how long the lease runs now, in ms.
   * @throws LockLostError when the lock is lost (an ended lease is never revived), LockUnavailableError when Redis does
   * not answer, LockArgumentError for a bad ttl or a released handle.
   */
  async extend(ttl?: Duration): Promise<number> {
    this.assertHeld();
    await this.client.extend(this.scope, ttl);
    this.assertHeld();
    return this.remaining;
  }

  /**
   * Makes a writer of a read/write lock a reader, without letting another writer in between: readers that wait come in
   * at once. Called again it changes nothing.
   * @throws LockArgumentError when it is no writer, when calls inside still run as the writer, or for a released handle.
   * LockLostError when the lock is lost. LockUnavailableError when Redis does not answer: whether others read already is
   * not known then, so write no more, and call it again.
   */
  async downgrade(): Promise<void> {
    this.assertHeld();
    await this.client.downgrade(this.scope);
    this.assertHeld();
  }

  /** Runs work inside the scope of this handle, so that what it calls can enter the lock again. It does not release. */
  run<T>(work: () => T): T {
    this.assertHeld();
    return this.inScope(work);
  }

  /**
   * Like {@link run}, also when the lock is lost: for the steps of work that has begun.
   * @internal
   */
  inScope<T>(work: () => T): T {
    return runInScope(this.scope, work);
  }

  /** Gives the lock back. Never throws, takes at most `commandTimeout`; a second call changes nothing. */
  release(): Promise<ReleaseOutcome> {
    this.released ??= this.forgetLoss
      ? this.client.leave(this.scope).finally(this.forgetLoss)
      : this.client.leave(this.scope);
    return this.released;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.release();
  }
}
