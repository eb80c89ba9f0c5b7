import { Redis } from 'ioredis';
import { Mutex } from 'redis-semaphore';
import { ttlMs } from './ttl.mjs';

/** @type {import('./index.mjs').Competitor} */
export const redisSemaphore = {
  name: 'redis-semaphore',
  group: 'peer',
  package: 'redis-semaphore',
  settings:
    '`Mutex` on ioredis, `retryInterval` as below (its default is 10 ms), `acquireTimeout: Infinity`, and `refreshInterval: 0` ' +
    '(no timer a lock) except where locks are held and renewed.',
  renews: true,
  async open(url, { retryMs, renew = false, onLost = () => {} }) {
    const redis = new Redis(url);
    const options = {
      lockTimeout: ttlMs,
      acquireTimeout: Infinity,
      retryInterval: retryMs,
      onLockLost: onLost,
      ...(renew ? {} : { refreshInterval: 0 }),
    };
    return {
      async acquire(key) {
        const mutex = new Mutex(redis, key, options);
        await mutex.acquire();
        return () => mutex.release();
      },
      close: () => redis.disconnect(),
    };
  },
};
