import { ConfigurableModuleBuilder } from '@nestjs/common';
import type { LockClientOptions } from '../create-lock-client.js';

/** The options of `RedisLockModule.forRoot`: those of a client, and what Nest adds. */
export interface RedisLockModuleOptions extends LockClientOptions {
  /**
   * Whether errors of locks become HTTP answers: 429 for a lock that is not to be had, 503 without Redis and while
   * shutting down.
   * @default true
   */
  http?: boolean;
}

/** What a class for `useClass` or `useExisting` of `forRootAsync` implements. */
export interface RedisLockOptionsFactory {
  createRedisLockOptions(): RedisLockModuleOptions | Promise<RedisLockModuleOptions>;
}

export const { ConfigurableModuleClass, MODULE_OPTIONS_TOKEN } = new ConfigurableModuleBuilder<RedisLockModuleOptions>({
  moduleName: 'RedisLock',
})
  .setClassMethodName('forRoot')
  .setFactoryMethodName('createRedisLockOptions')
  .setExtras({ isGlobal: true }, (definition, { isGlobal }) => ({ ...definition, global: isGlobal }))
  .build();
