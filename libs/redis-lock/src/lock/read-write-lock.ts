import type { ShareHolder } from '../stores/lock-store.js';
import { LockAccess } from './lock-access.js';
import type { LockClient } from './lock-client.js';
import type { LockKey } from './lock-key.js';

/** Who is inside of a read/write lock. */
export interface ReadWriteState {
  readonly readers: readonly ShareHolder[];
  readonly writer: ShareHolder | undefined;
  /** How many acquisitions wait, in all processes. */
  readonly queued: number;
}

/**
 * Readers are inside together, a writer is alone. They are served in the order in which they come, so that a writer that
 * waits keeps new readers out. Each has a lease of its own. Inside of the write lock the same key may be read; a reader
 * cannot become a writer.
 */
export class ReadWriteLock {
  readonly read: LockAccess;
  /** {@link LockHandle.downgrade} makes a reader of a writer. */
  readonly write: LockAccess;

  /** @internal */
  constructor(
    private readonly locks: LockClient,
    private readonly lock: LockKey,
  ) {
    this.read = new LockAccess(locks, lock, { mode: 'read' });
    this.write = new LockAccess(locks, lock, { mode: 'write' });
  }

  /** The key, as the user named it. */
  get key(): string {
    return this.lock.text;
  }

  /**
   * Who is inside now. The answer may be old when it arrives.
   * @throws LockUnavailableError, LockShutdownError, LockArgumentError.
   */
  async inspect(): Promise<ReadWriteState> {
    const { holders, queued } = await this.locks.holdersOf(this.lock);
    const isWriter = ({ permits }: ShareHolder): boolean => permits > 1;
    return { readers: holders.filter((one) => !isWriter(one)), writer: holders.find(isWriter), queued };
  }
}
