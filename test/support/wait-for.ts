import { setTimeout as sleep } from 'node:timers/promises';

export interface WaitOptions {
  /** @default 10_000 */
  timeoutMs?: number;
  /** What is waited for, for the error. */
  what?: string;
}

/** Asks again and again until the answer is neither false nor undefined nor null, and returns it. */
export async function waitFor<T>(
  condition: () => T | Promise<T>,
  { timeoutMs = 10_000, what = condition.toString() }: WaitOptions = {},
): Promise<NonNullable<Exclude<T, false>>> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const answer = await condition();
    if (answer !== false && answer !== undefined && answer !== null) return answer as NonNullable<Exclude<T, false>>;
    if (performance.now() > deadline) throw new Error(`Still not so after ${timeoutMs} ms: ${what}`);
    await sleep(5);
  }
}

export interface Deferred<T> {
  promise: Promise<T>;
  resolve: (value: T | PromiseLike<T>) => void;
  reject: (reason?: unknown) => void;
}

/** A promise that the test settles itself. */
export function deferred<T = void>(): Deferred<T> {
  let resolve!: Deferred<T>['resolve'];
  let reject!: Deferred<T>['reject'];
  const promise = new Promise<T>((onResolve, onReject) => {
    resolve = onResolve;
    reject = onReject;
  });
  return { promise, resolve, reject };
}
