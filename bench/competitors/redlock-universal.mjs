import { Redis } from 'ioredis';
import { createLock, IoredisAdapter } from 'redlock-universal';
import { ttlMs } from './ttl.mjs';

/** @type {import('./index.mjs').Competitor} */
export const redlockUniversal = {
  name: 'redlock-universal',
  group: 'peer',
  package: 'redlock-universal',
  settings:
    '`createLock` on ioredis, `performance: "lean"` (no health checks, no circuit breaker), `retryDelay` as below, ' +
    'retries without end.',
  async open(url, { retryMs }) {
    const redis = new Redis(url);
    const options = {
      adapter: new IoredisAdapter(redis),
      ttl: ttlMs,
      retryAttempts: 1e9,
      retryDelay: retryMs,
      performance: /** @type {const} */ ('lean'),
    };
    return {
      async acquire(key) {
        const lock = createLock({ ...options, key });
        const handle = await lock.acquire();
        return () => lock.release(handle);
      },
      close: () => redis.disconnect(),
    };
  },
};
