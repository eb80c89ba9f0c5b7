import { Module } from '@nestjs/common';
import { APP_INTERCEPTOR } from '@nestjs/core';
import { LockHttpInterceptor } from '../interceptors/lock-http.interceptor.js';
import { LockService } from './lock.service.js';
import {
  ConfigurableModuleClass,
  MODULE_OPTIONS_TOKEN,
  type RedisLockModuleOptions,
} from './redis-lock.module-definition.js';

/**
 * Gives the application its `LockService`, and the decorators theirs. Import it once, in the root module; it is global
 * unless `isGlobal` is false.
 * @example
 * ```ts
 * RedisLockModule.forRoot({ connection: 'redis://localhost:6379' })
 * RedisLockModule.forRootAsync({ inject: [ConfigService], useFactory: (config) => ({ connection:
 * config.get('REDIS_URL') }) })
 * ```
 */
@Module({
  providers: [
    {
      provide: LockService,
      inject: [MODULE_OPTIONS_TOKEN],
      useFactory: (options: RedisLockModuleOptions) => new LockService(options),
    },
    { provide: APP_INTERCEPTOR, useClass: LockHttpInterceptor },
  ],
  exports: [LockService],
})
export class RedisLockModule extends ConfigurableModuleClass {}
