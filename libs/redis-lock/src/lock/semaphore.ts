import type { ShareHolder } from '../stores/lock-store.js';
import { LockAccess, type AccessOptions } from './lock-access.js';
import type { LockClient } from './lock-client.js';
import type { LockKey } from './lock-key.js';
import type { LockOptions } from './lock-options.js';
import { checkPermits } from './share-settings.js';

/** The options of an acquisition from a semaphore. */
export type PermitOptions = AccessOptions & Pick<LockOptions, 'take'>;

/** Who has what of a semaphore. */
export interface SemaphoreState {
  /** How many permits there are, as this process sees it. */
  readonly permits: number;
  /** How many of them nobody has; those who wait come first. */
  readonly available: number;
  readonly holders: readonly ShareHolder[];
  /** How many acquisitions wait, in all processes. */
  readonly queued: number;
}

/**
 * Lets so many callers in at a time as there are permits, on all nodes together. They are served in the order in which
 * they come: one that takes many permits is not passed by. Each has a lease of its own, so that the permits of a process
 * that died come back when it ends, and only those. For a limit *per second* use a rate limiter, such as
 * `@nestjs/throttler`.
 */
export class Semaphore extends LockAccess<PermitOptions> {
  /** @internal */
  constructor(
    private readonly locks: LockClient,
    private readonly lock: LockKey,
    private limit: number,
  ) {
    checkPermits(limit, lock.text);
    super(locks, lock, { permits: () => this.limit });
  }

  /**
   * How many permits there are. It may be set at any time, and counts for who waits here as well; nobody is put out. Other
   * processes have a number of their own, and each acquisition counts by that of its process.
   * @throws LockArgumentError when it is set to something else than a whole number from 1 to 1,000,000.
   */
  get permits(): number {
    return this.limit;
  }

  set permits(permits: number) {
    this.limit = checkPermits(permits, this.key);
    this.locks.askAgain(this.lock);
  }

  /**
   * Who has permits now. The answer may be old when it arrives.
   * @throws LockUnavailableError, LockShutdownError, LockArgumentError.
   */
  async inspect(): Promise<SemaphoreState> {
    const { holders, permits: used, queued } = await this.locks.holdersOf(this.lock);
    const { permits } = this;
    return { permits, available: Math.max(0, permits - used), holders, queued };
  }
}
