import type { LockClientOptions } from '../create-lock-client.js';
import type { LockedWork, TryRunResult } from '../lock/lock-client.js';
import type { LockHandle } from '../lock/lock-handle.js';
import { LockKey } from '../lock/lock-key.js';
import type { LockOptions } from '../lock/lock-options.js';
import { LockService } from '../module/lock.service.js';

/** One call that asked for a lock. */
export interface RecordedCall {
  /** How it asked; the decorators call `acquire`. */
  readonly method: 'run' | 'tryRun' | 'acquire' | 'tryAcquire';
  readonly key: string;
  /** The key without its values: `order:<>:<>`. */
  readonly template: string;
  /** As they were given; those of the client are not filled in. */
  readonly options: LockOptions;
}

/**
 * A LockService in memory that writes down who asks for which lock. It is no stub: callers exclude each other, leases end,
 * locks can be lost. It closes with the application that it was given to, so make one for each test.
 * @example
 * ```ts
 * const locks = new RecordingLockService();
 * const module = await Test.createTestingModule({ imports: [AppModule] })
 *   .overrideProvider(LockService)
 *   .useValue(locks)
 *   .compile();
 * await module.get(OrderService).buy(7, 9);
 * expect(locks.keys).toEqual(['order:7:9']);
 * ```
 */
export class RecordingLockService extends LockService {
  private readonly recorded: RecordedCall[] = [];

  /**
   * @param options the defaults of its locks, and a MemoryLockStore where several are to exclude each other.
   * @throws LockArgumentError for options that are wrong.
   */
  constructor(options: Omit<LockClientOptions, 'connection'> = {}) {
    super({ store: 'memory', ...options });
  }

  /** The calls in their order, also those that did not get the lock; none whose key was refused as wrong. */
  get calls(): readonly RecordedCall[] {
    return [...this.recorded];
  }

  /** The keys of {@link calls}. */
  get keys(): readonly string[] {
    return this.recorded.map(({ key }) => key);
  }

  /** Forgets the calls. Who holds or waits for a lock goes on. */
  reset(): void {
    this.recorded.length = 0;
  }

  override async run<T>(key: string | LockKey, work: LockedWork<T>, options?: LockOptions): Promise<T> {
    return super.run(this.record('run', key, options), work, options);
  }

  override async tryRun<T>(
    key: string | LockKey,
    work: LockedWork<T>,
    options?: LockOptions,
  ): Promise<TryRunResult<T>> {
    return super.tryRun(this.record('tryRun', key, options), work, options);
  }

  override async acquire(key: string | LockKey, options?: LockOptions): Promise<LockHandle> {
    return super.acquire(this.record('acquire', key, options), options);
  }

  override async tryAcquire(key: string | LockKey, options?: LockOptions): Promise<LockHandle | null> {
    return super.tryAcquire(this.record('tryAcquire', key, options), options);
  }

  private record(method: RecordedCall['method'], key: string | LockKey, options: LockOptions = {}): LockKey {
    const name = LockKey.of(key);
    this.recorded.push({ method, key: name.text, template: name.template, options: { ...options } });
    return name;
  }
}
