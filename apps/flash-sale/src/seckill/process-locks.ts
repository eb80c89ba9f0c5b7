import { Injectable, type BeforeApplicationShutdown } from '@nestjs/common';
import { createLockClient, type LockKey } from 'nestjs-redis-lock';

/** Locks in the memory of this process, for the route that shows why this is not enough. */
@Injectable()
export class ProcessLocks implements BeforeApplicationShutdown {
  private readonly locks = createLockClient({ store: 'memory' });

  run<T>(key: LockKey, work: () => Promise<T>): Promise<T> {
    return this.locks.run(key, work);
  }

  /** Lets what runs under a lock end before the database's connections are closed. */
  async beforeApplicationShutdown(): Promise<void> {
    await this.locks.close();
  }
}
