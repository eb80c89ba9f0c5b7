import { Injectable, Logger } from '@nestjs/common';
import type { BeforeApplicationShutdown, OnApplicationBootstrap, OnApplicationShutdown } from '@nestjs/common';
import { resolveParts } from '../create-lock-client.js';
import { LockClient } from '../lock/lock-client.js';
import type { RedisLockModuleOptions } from './redis-lock.module-definition.js';

/** The lock client of the application, injectable. It drains and closes with the application. */
@Injectable()
export class LockService
  extends LockClient
  implements OnApplicationBootstrap, BeforeApplicationShutdown, OnApplicationShutdown
{
  /** @internal */
  constructor(options: RedisLockModuleOptions) {
    super(resolveParts(options, 'RedisLockModule', new Logger('RedisLock'), ['http']));
  }

  onApplicationBootstrap(): void {
    if (process.env['NODE_ENV'] === 'test' || process.listenerCount('SIGTERM') > 0) return;
    this.logger.warn(
      'Nobody listens to SIGTERM: without app.enableShutdownHooks() this process dies with its locks, and others wait for their leases. ' +
        'Call it before app.listen().',
    );
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.drain();
  }

  async onApplicationShutdown(): Promise<void> {
    await this.close();
  }
}
