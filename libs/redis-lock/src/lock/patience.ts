import { onAbort } from './abort-listeners.js';
import { elapsedSince, now } from './clock.js';
import { LockAbortedError, type LockError } from './lock.errors.js';
import { setPatientTimeout } from './timeout.js';

export interface PatienceLimits {
  readonly key: string;
  /** From now, in ms; `Infinity` for no deadline. */
  readonly limitMs: number;
  readonly signal: AbortSignal | undefined;
  /** What the caller gets at its deadline, made when that comes. */
  readonly deadlineError: (waitedMs: number) => LockError;
}

/**
 * How long one caller is willing to wait: until its deadline, its AbortSignal, or until somebody ends it. Everything
 * that the caller waits for goes through {@link race} or {@link whenOver}, one at a time. Dispose of it when the waiting
 * is over.
 */
export class Patience {
  readonly started = now();
  private end: LockError | undefined;
  private interrupt: ((error: LockError) => void) | undefined;
  private timer: NodeJS.Timeout | undefined;
  private readonly forgetSignal: (() => void) | undefined;

  constructor(private readonly limits: PatienceLimits) {
    const { signal, key, limitMs } = limits;
    if (signal?.aborted) this.stop(new LockAbortedError(key, signal.reason));
    else if (signal) this.forgetSignal = onAbort(signal, () => this.stop(new LockAbortedError(key, signal.reason)));
    if (limitMs !== Infinity)
      this.timer = setPatientTimeout(() => this.stop(limits.deadlineError(this.elapsedMs)), limitMs);
  }

  get elapsedMs(): number {
    return elapsedSince(this.started);
  }

  get remainingMs(): number {
    return this.limits.limitMs - this.elapsedMs;
  }

  /** Ends the waiting with this error. */
  stop(error: LockError): void {
    this.end ??= error;
    this.interrupt?.(this.end);
  }

  /** Calls back when the patience ends; it must not have ended yet. Undefined: nobody waits for that any more. */
  whenOver(callback: ((error: LockError) => void) | undefined): void {
    this.interrupt = callback;
  }

  throwIfOver(): void {
    if (this.end) throw this.end;
  }

  /** The promise's outcome, or the error that ends the patience before. */
  async race<T>(promise: Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      promise.then(resolve, reject);
      if (this.end) reject(this.end);
      else this.interrupt = reject;
    }).finally(() => (this.interrupt = undefined));
  }

  dispose(): void {
    clearTimeout(this.timer);
    this.forgetSignal?.();
  }
}
