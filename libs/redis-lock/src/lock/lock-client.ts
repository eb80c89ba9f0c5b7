import type { Holders, LockStore } from '../stores/lock-store.js';
import { LockEngine } from './lock-engine.js';
import { LockEventEmitter, type LockLogger } from './lock-events.js';
import type { LockHandle } from './lock-handle.js';
import { LockKey } from './lock-key.js';
import type { LockOptions } from './lock-options.js';
import {
  refuseLacking,
  resolveLockSettings,
  secondsWarning,
  type ClientSettings,
  type LockSettings,
} from './lock-settings.js';
import {
  LockArgumentError,
  LockBusyError,
  LockLostError,
  LockShutdownError,
  LockTimeoutError,
  LockUnavailableError,
} from './lock.errors.js';
import { ReadWriteLock } from './read-write-lock.js';
import { Semaphore } from './semaphore.js';
import { refuseShares } from './share-settings.js';
import { withTimeout } from './timeout.js';

/** Work that runs under a lock. */
export type LockedWork<T> = (lock: LockHandle) => T | PromiseLike<T>;

/** What `tryRun` gives: the value of the work, or why it did not run. */
export type TryRunResult<T> =
  { readonly ran: true; readonly value: T } | { readonly ran: false; readonly reason: 'busy' | 'timeout' };

export interface LockClientParts {
  readonly store: LockStore;
  readonly settings: ClientSettings;
  readonly logger: LockLogger;
  /** Whether the store is closed with the client. */
  readonly ownsStore: boolean;
}

/**
 * Takes locks, keeps their leases and gives them back. Make one with `createLockClient`; in Nest it is `LockService`.
 */
export class LockClient implements AsyncDisposable {
  /** Tells what happens to the locks of this client; see {@link LockEvents}. */
  readonly events: LockEventEmitter;

  /** @internal */
  readonly logger: LockLogger;

  private readonly engine: LockEngine;
  private readonly tryDefaults: LockSettings;
  private draining: Promise<void> | undefined;
  private closing: Promise<void> | undefined;
  private warnedOfSeconds = false;

  /** @internal */
  constructor(private readonly parts: LockClientParts) {
    this.logger = parts.logger;
    this.events = new LockEventEmitter(parts.logger);
    this.engine = new LockEngine(parts.store, parts.settings, this.events, parts.logger);
    this.tryDefaults = { ...parts.settings.lock, waitMs: 0 };
  }

  /**
   * Runs work under the lock and gives back what it returns. The lock is released when the work has settled.
   * @throws what the work throws, as it was thrown. LockBusyError or LockTimeoutError when the lock was not to be had,
   * LockAbortedError, LockShutdownError, LockUnavailableError, LockArgumentError. LockLostError when the work returned
   * but the lock was lost meanwhile.
   */
  async run<T>(key: string | LockKey, work: LockedWork<T>, options?: LockOptions): Promise<T> {
    const wanted = this.prepare(key, options, this.parts.settings.lock, work);
    return this.complete(await this.obtain(wanted), work, wanted.settings.onLost);
  }

  /**
   * Like {@link run}, but a lock that is not to be had is a result and no error. One attempt, unless `wait` says
   * otherwise.
   * @throws as `run`, less LockBusyError and LockTimeoutError of this lock.
   */
  async tryRun<T>(key: string | LockKey, work: LockedWork<T>, options?: LockOptions): Promise<TryRunResult<T>> {
    const wanted = this.prepare(key, options, this.tryDefaults, work);
    const lock = await orNotObtained(this.obtain(wanted));
    return typeof lock === 'string'
      ? { ran: false, reason: lock }
      : { ran: true, value: await this.complete(lock, work, wanted.settings.onLost) };
  }

  /**
   * Acquires the lock and gives its handle; `await using` releases it at the end of the block.
   * @throws LockBusyError, LockTimeoutError, LockAbortedError, LockShutdownError, LockUnavailableError,
   * LockArgumentError.
   */
  async acquire(key: string | LockKey, options?: LockOptions): Promise<LockHandle> {
    return this.obtain(this.prepare(key, options, this.parts.settings.lock));
  }

  /**
   * Like {@link acquire}, but null when the lock is not to be had. One attempt, unless `wait` says otherwise.
   * @throws as `acquire`, less LockBusyError and LockTimeoutError.
   */
  async tryAcquire(key: string | LockKey, options?: LockOptions): Promise<LockHandle | null> {
    const lock = await orNotObtained(this.obtain(this.prepare(key, options, this.tryDefaults)));
    return typeof lock === 'string' ? null : lock;
  }

  /**
   * Whether anybody holds the key now. The answer may be old when it arrives: never decide by it what only a lock can
   * decide.
   * @throws LockUnavailableError, LockShutdownError, LockArgumentError.
   */
  async isLocked(key: string | LockKey): Promise<boolean> {
    const { text } = LockKey.of(key);
    return (await this.ask(text, () => this.parts.store.inspect(text))).status === 'held';
  }

  /**
   * A semaphore: so many callers are inside at a time, on all nodes together.
   * @param options `permits`: how many, 1 to 1,000,000.
   * @throws LockArgumentError for a bad key or number, and with `nodes`.
   */
  semaphore(key: string | LockKey, options: { readonly permits: number }): Semaphore {
    return new Semaphore(this, LockKey.of(key), options?.permits);
  }

  /**
   * A read/write lock: readers together, a writer alone.
   * @throws LockArgumentError for a bad key.
   */
  readWrite(key: string | LockKey): ReadWriteLock {
    return new ReadWriteLock(this, LockKey.of(key));
  }

  /**
   * Who has what of a lock with shares.
   * @internal
   */
  async holdersOf(name: LockKey): Promise<Holders> {
    const { store } = this.parts;
    refuseShares(store, name.text);
    return this.ask(name.text, async () => (await store.holders?.(name.text)) ?? NOBODY);
  }

  /**
   * Who waits here for a lock with shares asks once more.
   * @internal
   */
  askAgain(name: LockKey): void {
    this.engine.askAgain(name);
  }

  /**
   * Releases a lock whose work has succeeded: the end of `run`, for work that is no function.
   * @internal
   * @throws LockLostError, which carries the result, when the lock was lost meanwhile and `onLost` is not `'warn'`.
   */
  async settle(
    lock: LockHandle,
    result?: unknown,
    onLost: LockOptions['onLost'] = this.parts.settings.lock.onLost,
  ): Promise<void> {
    if ((await lock.release()) !== 'lost' || onLost === 'warn') return;
    throw new LockLostError(lock.key, lock.lost?.reason ?? 'taken', lock.token, {
      cause: lock.lost?.cause,
      result,
    });
  }

  /**
   * Takes a key away from whoever holds it through this client; for tests.
   * @internal
   * @returns whether anybody did.
   */
  async takeAway(key: LockKey): Promise<boolean> {
    return this.engine.takeAway(key);
  }

  /**
   * Somebody else at the same store, as another process is, who warns of nothing; for tests.
   * @internal
   */
  stranger(): LockClient {
    return new LockClient({ ...this.parts, logger: { warn: () => undefined }, ownsStore: false });
  }

  /**
   * Gives out no new locks, except inside of one that is held, ends the waiting of everybody else, and waits until all
   * locks are released, `shutdown.drain` at most. What is left then is given back and counts as lost.
   */
  async drain(): Promise<void> {
    this.draining ??= this.engine.drain();
    return this.draining;
  }

  /** {@link drain}, then closes the connections that are ours. A second call changes nothing. */
  async close(): Promise<void> {
    this.closing ??= this.drain().then(async () => {
      await this.engine.close();
      if (this.parts.ownsStore) await this.parts.store.close();
    });
    return this.closing;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** Checks everything that a caller gave, before anything is sent. */
  private prepare(
    key: string | LockKey,
    options: LockOptions | undefined,
    defaults: LockSettings,
    work: unknown = noWork,
  ): Wanted {
    const name = LockKey.of(key);
    if (typeof work !== 'function') {
      throw new LockArgumentError(
        `Lock "${name.text}": the work must be a function; the options come last.`,
        name.text,
      );
    }
    const settings = resolveLockSettings(options, defaults, name.text);
    refuseLacking(this.parts.store, settings, name.text);
    const warning = this.warnedOfSeconds ? undefined : secondsWarning(options?.ttl, name.text);
    if (warning) {
      this.warnedOfSeconds = true;
      this.logger.warn(warning);
    }
    return { name, settings };
  }

  /** A question to the store that is about no acquisition. */
  private async ask<T>(key: string, question: () => Promise<T>): Promise<T> {
    if (this.closing) throw new LockShutdownError(key);
    const { commandTimeoutMs } = this.parts.settings;
    const late = (): Error => new LockUnavailableError(key, `Redis did not answer within ${commandTimeoutMs} ms`);
    return withTimeout(question(), commandTimeoutMs, late);
  }

  private obtain({ name, settings }: Wanted): Promise<LockHandle> {
    return this.engine.obtain(name, settings);
  }

  /**
   * Runs work under a lock that was acquired, and releases it: the second half of `run`.
   * @internal
   */
  async complete<T>(lock: LockHandle, work: LockedWork<T>, onLost?: LockOptions['onLost']): Promise<T> {
    let result: T;
    try {
      result = await lock.run(() => work(lock));
    } catch (error) {
      await lock.release();
      throw error;
    }
    await this.settle(lock, result, onLost);
    return result;
  }
}

/** What a caller asked for, checked. */
interface Wanted {
  readonly name: LockKey;
  readonly settings: LockSettings;
}

function noWork(): void {}

const NOBODY: Holders = { holders: [], permits: 0, queued: 0 };

/** A lock that was not to be had, as a word; every other error stays one. */
async function orNotObtained(lock: Promise<LockHandle>): Promise<LockHandle | 'busy' | 'timeout'> {
  try {
    return await lock;
  } catch (error) {
    if (error instanceof LockBusyError) return 'busy';
    if (error instanceof LockTimeoutError) return 'timeout';
    throw error;
  }
}
