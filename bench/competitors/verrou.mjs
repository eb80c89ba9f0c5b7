import { Redis } from 'ioredis';
import { Verrou } from '@verrou/core';
import { redisStore } from '@verrou/core/drivers/redis';
import { ttlMs } from './ttl.mjs';

/** @type {import('./index.mjs').Competitor} */
export const verrou = {
  name: '@verrou/core',
  group: 'peer',
  package: '@verrou/core',
  settings: 'The Redis store on ioredis, `retry.delay` as below, attempts without end (its default).',
  async open(url, { retryMs }) {
    const redis = new Redis(url);
    const locks = new Verrou({
      default: 'redis',
      stores: { redis: { driver: redisStore({ connection: redis }) } },
    });
    return {
      async acquire(key) {
        const lock = locks.createLock(key, ttlMs);
        if (!(await lock.acquire({ retry: { delay: retryMs } }))) throw new Error(`"${key}" was not obtained`);
        return () => lock.release();
      },
      close: () => redis.disconnect(),
    };
  },
};
