import { onAbort } from './abort-listeners.js';
import { elapsedSince, now } from './clock.js';
import { LockAbortedError, type LockError } from './lock.errors.js';
import { setPatientTimeout } from './timeout.js';

/** What a caller is told at its deadline: that depends on what it waits for then. */
type Late = (waitedMs: number) => LockError;

/**
 * How long one caller is willing to wait: until its deadline, its AbortSignal, or until somebody ends it. Everything
 * that the caller waits for goes through {@link race} or {@link whenOver}, one at a time. Dispose of it when the waiting
 * is over.
 */
export class Patience {
  private readonly started = now();
  /** The error that ended it. */
  over: LockError | undefined;
  private interrupt: ((error: LockError) => void) | undefined;
  private late: Late | undefined;
  private readonly timer: NodeJS.Timeout | undefined;
  private readonly forgetSignal: (() => void) | undefined;

  /** @param limitMs from now, in ms; `Infinity` for no deadline. */
  constructor(
    key: string,
    private readonly limitMs: number,
    signal: AbortSignal | undefined,
  ) {
    if (signal?.aborted) this.stop(new LockAbortedError(key, signal.reason));
    else if (signal) this.forgetSignal = onAbort(signal, () => this.stop(new LockAbortedError(key, signal.reason)));
    if (limitMs !== Infinity) this.timer = setPatientTimeout(() => this.endInTime(), limitMs);
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
    this.interrupt?.(this.over);
  }

  /** Calls back when the patience ends, which must not have been yet. */
  whenOver(callback: (error: LockError) => void, late: Late): void {
    this.interrupt = callback;
    this.late = late;
  }

  throwIfOver(): void {
    if (this.over) throw this.over;
  }

  /** The promise's outcome, or the error that ends the patience before. */
  async race<T>(promise: Promise<T>, late: Late): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      promise.then(resolve, reject);
      if (this.over) reject(this.over);
      else this.whenOver(reject, late);
    }).finally(() => (this.interrupt = undefined));
  }

  dispose(): void {
    this.interrupt = undefined;
    clearTimeout(this.timer);
    this.forgetSignal?.();
  }

  private endInTime(): void {
    if (this.late) this.stop(this.late(this.elapsedMs));
  }
}
