import { createClient } from 'redis';
import { Redlock } from '@redis-kit/lock';
import { ttlMs } from './ttl.mjs';

/** @type {import('./index.mjs').Competitor} */
export const redisKitLock = {
  name: '@redis-kit/lock',
  group: 'peer',
  package: '@redis-kit/lock',
  settings: '`Redlock` on one node-redis, `retryDelayMs` as below, `retryJitterMs: 0`, retries without end.',
  async open(url, { retryMs }) {
    const redis = createClient({ url });
    redis.on('error', () => {});
    await redis.connect();
    const redlock = new Redlock([/** @type {any} */ (redis)], {
      retryDelayMs: retryMs,
      retryJitterMs: 0,
      maxRetryAttempts: 1e9,
    });
    return {
      async acquire(key) {
        const lock = await redlock.acquire(key, ttlMs);
        if (!lock) throw new Error(`"${key}" was not obtained`);
        return () => lock.release();
      },
      close: () => redis.destroy(),
    };
  },
};
