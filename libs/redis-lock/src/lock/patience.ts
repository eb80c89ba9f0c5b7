import { onAbort } from './abort-listeners.js';
import { elapsedSince, now } from './clock.js';
import type { Deadline, Deadlines } from './deadlines.js';
import { LockAbortedError, type LockError } from './lock.errors.js';

/** Who waits, and for what. */
export interface PatienceListener {
  /** The patience has ended. */
  over(error: LockError): void;
  /** What the caller gets at its deadline: that depends on what it waits for then. */
  late(waitedMs: number): LockError;
}

/**
 * How long one caller is willing to wait: until its deadline, its AbortSignal, or until somebody ends it. Everything
 * that the caller waits for goes through {@link race} or has a {@link listener}, one at a time. Dispose of it when the waiting
 * is over.
 */
export class Patience {
  private readonly started = now();
  /** The error that ended it. */
  over: LockError | undefined;
  /** Who waits now. The patience must not have ended yet when it is set. */
  listener: PatienceListener | undefined;
  private readonly deadline: Deadline | undefined;
  private readonly forgetSignal: (() => void) | undefined;

  /** @param limitMs from now, in ms; `Infinity` for no deadline. */
  constructor(
    key: string,
    readonly limitMs: number,
    signal: AbortSignal | undefined,
    deadlines: Deadlines,
  ) {
    if (signal?.aborted) this.stop(new LockAbortedError(key, signal.reason));
    else if (signal) this.forgetSignal = onAbort(signal, () => this.stop(new LockAbortedError(key, signal.reason)));
    if (limitMs !== Infinity) this.deadline = deadlines.in(limitMs, () => this.endInTime());
  }

  get elapsedMs(): number {
    return elapsedSince(this.started);
  }

  get remainingMs(): number {
    return this.limitMs - this.elapsedMs;
  }

  /** Ends the waiting with this error. */
  stop(error: LockError): void {
    this.over ??= error;
    this.listener?.over(this.over);
  }

  throwIfOver(): void {
    if (this.over) throw this.over;
  }

  /** The promise's outcome, or the error that ends the patience before. */
  async race<T>(promise: Promise<T>, late: PatienceListener['late']): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      promise.then(resolve, reject);
      if (this.over) reject(this.over);
      else this.listener = { over: reject, late };
    }).finally(() => (this.listener = undefined));
  }

  dispose(): void {
    this.listener = undefined;
    this.deadline?.cancel();
    this.forgetSignal?.();
  }

  private endInTime(): void {
    if (this.listener) this.stop(this.listener.late(this.elapsedMs));
  }
}
