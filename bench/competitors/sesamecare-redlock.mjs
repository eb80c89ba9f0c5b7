import { Redis } from 'ioredis';
import { Redlock } from '@sesamecare-oss/redlock';
import { ttlMs } from './ttl.mjs';

/** @type {import('./index.mjs').Competitor} */
export const sesamecareRedlock = {
  name: '@sesamecare-oss/redlock',
  group: 'peer',
  package: '@sesamecare-oss/redlock',
  settings: 'One ioredis, `retryCount: -1` (no end), `retryDelay` as below, `retryJitter: 0`.',
  async open(url, { retryMs }) {
    const redis = new Redis(url);
    const redlock = new Redlock([redis], { retryCount: -1, retryDelay: retryMs, retryJitter: 0 });
    redlock.on('error', () => {}); // one event for every attempt that finds the key held
    return {
      async acquire(key) {
        const lock = await redlock.acquire([key], ttlMs);
        return () => lock.release();
      },
      close: () => redis.disconnect(),
    };
  },
};
