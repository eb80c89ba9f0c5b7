import { Redis } from 'ioredis';
import { Semaphore } from 'redis-semaphore';
import { importLibrary } from './own.mjs';
import { ttlMs } from './ttl.mjs';

/** How many may be inside. */
export const permits = 5;

/** @type {import('./index.mjs').Competitor} */
export const ownSemaphore = {
  name: 'nestjs-redis-lock, semaphore',
  group: 'semaphore',
  settings: '`locks.semaphore(key, { permits: 5 })`, and `wait: Infinity`; the lease is renewed.',
  async open(url, { lib }) {
    const { createLockClient } = await importLibrary(lib);
    const client = createLockClient({ connection: url, ttl: ttlMs, wait: Infinity });
    return {
      async acquire(key) {
        const handle = await client.acquire(key, { permits });
        return () => handle.release();
      },
      close: () => client.close(),
    };
  },
};

/** @type {import('./index.mjs').Competitor} */
export const redisSemaphoreSemaphore = {
  name: 'redis-semaphore, Semaphore',
  group: 'semaphore',
  package: 'redis-semaphore',
  settings:
    '`Semaphore` on ioredis with `retryInterval` as below, `acquireTimeout: Infinity`, and `refreshInterval: 0`.',
  async open(url, { retryMs }) {
    const redis = new Redis(url);
    const options = {
      lockTimeout: ttlMs,
      acquireTimeout: Infinity,
      retryInterval: retryMs,
      onLockLost: () => {},
      refreshInterval: 0,
    };
    return {
      async acquire(key) {
        const semaphore = new Semaphore(redis, key, permits, options);
        await semaphore.acquire();
        return () => semaphore.release();
      },
      close: () => redis.disconnect(),
    };
  },
};
