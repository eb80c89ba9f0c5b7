import type { LockStore, Share } from '../stores/lock-store.js';
import type { LockOptions } from './lock-options.js';
import { LockArgumentError } from './lock.errors.js';
import { refuse } from './refuse.js';
import { MAX_PERMITS, READER, WRITER } from './shares.js';

/** @throws LockArgumentError when the store has no locks with shares. */
export function refuseShares(store: Partial<LockStore>, lock: string): void {
  if ('holders' in store && !store.lacks?.includes('shares')) return;
  throw new LockArgumentError(
    `Lock "${lock}": this store has no semaphores or read/write locks; over several independent nodes ("nodes") no ` +
      'correct algorithm is known. Use one Redis, Sentinels or a Cluster.',
    lock,
  );
}

/** @throws LockArgumentError when the options that make a lock one with shares are wrong, or contradict each other. */
export function shareOf({ permits, take, mode }: LockOptions, lock: string): Share | undefined {
  if (mode !== undefined) {
    if (mode !== 'read' && mode !== 'write') refuse('mode', mode, "'read' or 'write'", lock);
    if (permits !== undefined) refuse('permits', permits, 'left out where "mode" is given', lock);
    if (take !== undefined) refuse('take', take, 'left out where "mode" is given', lock);
    return mode === 'read' ? READER : WRITER;
  }
  if (permits === undefined) {
    if (take !== undefined) refuse('take', take, 'left out where "permits" is not given', lock);
    return undefined;
  }
  const wanted = take ?? 1;
  if (!isCount(wanted)) refuse('take', take, 'a whole number from 1', lock);
  if (typeof permits === 'function') return new LiveShare(wanted, permits, lock);
  return { permits: wanted, limit: checkPermits(permits, lock, wanted) };
}

/**
 * Checks how many permits a semaphore has.
 * @throws LockArgumentError
 */
export function checkPermits(permits: unknown, lock: string, take = 1): number {
  if (!isCount(permits) || permits > MAX_PERMITS) {
    refuse('permits', permits, `a whole number from 1 to ${MAX_PERMITS}`, lock);
  }
  if (take > permits) refuse('take', take, `a whole number from 1 to "permits", ${permits}`, lock);
  return permits;
}

/** A share of a semaphore whose permits may change. */
class LiveShare implements Share {
  private last: number;

  /** @throws LockArgumentError */
  constructor(
    readonly permits: number,
    private readonly ask: () => number,
    private readonly lock: string,
  ) {
    this.last = this.asked();
  }

  /** What was right before counts where the answer is wrong now. */
  get limit(): number {
    try {
      this.last = this.asked();
    } catch {
      // Nobody is there to hear of it.
    }
    return this.last;
  }

  private asked(): number {
    return checkPermits(this.ask(), this.lock, this.permits);
  }
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 1;
}
