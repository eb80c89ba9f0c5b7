import type { LockClient, LockedWork, TryRunResult } from './lock-client.js';
import type { LockHandle } from './lock-handle.js';
import type { LockKey } from './lock-key.js';
import type { LockOptions } from './lock-options.js';
import { LockArgumentError } from './lock.errors.js';

/** The options of a lock whose kind is settled. */
export type AccessOptions = Omit<LockOptions, 'permits' | 'take' | 'mode'>;

/** The ways to take one lock, whose key and kind are settled. They throw what those of {@link LockClient} throw. */
export class LockAccess<Options extends AccessOptions = AccessOptions> {
  /** @internal */
  constructor(
    private readonly client: LockClient,
    private readonly name: LockKey,
    private readonly kind: LockOptions,
  ) {}

  /** The key, as the user named it. */
  get key(): string {
    return this.name.text;
  }

  /** See {@link LockClient.run}. */
  async run<T>(work: LockedWork<T>, options?: Options): Promise<T> {
    return this.client.run(this.name, work, this.with(options));
  }

  /** See {@link LockClient.tryRun}. */
  async tryRun<T>(work: LockedWork<T>, options?: Options): Promise<TryRunResult<T>> {
    return this.client.tryRun(this.name, work, this.with(options));
  }

  /** See {@link LockClient.acquire}. */
  async acquire(options?: Options): Promise<LockHandle> {
    return this.client.acquire(this.name, this.with(options));
  }

  /** See {@link LockClient.tryAcquire}. */
  async tryAcquire(options?: Options): Promise<LockHandle | null> {
    return this.client.tryAcquire(this.name, this.with(options));
  }

  /** @throws LockArgumentError for an option that is settled already. */
  private with(options: Options | undefined): LockOptions {
    for (const name of ['permits', 'mode', ...('mode' in this.kind ? ['take'] : [])] as const) {
      if (!Object.hasOwn(options ?? {}, name)) continue;
      throw new LockArgumentError(`Lock "${this.key}": option "${name}" is settled already; leave it out.`, this.key);
    }
    return { ...options, ...this.kind };
  }
}
