export interface BackoffRange {
  readonly initialMs: number;
  readonly maxMs: number;
}

/**
 * Exponential back-off with equal jitter: half of the step is fixed, half is random, so that waiters that started
 * together spread out and nobody spins.
 * @see https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/
 */
export function backoffDelay(attempt: number, range: BackoffRange, random: () => number = Math.random): number {
  const step = Math.min(range.maxMs, range.initialMs * 2 ** Math.min(attempt, 30));
  return step / 2 + (step / 2) * random();
}
