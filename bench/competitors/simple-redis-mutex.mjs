import { createClient } from 'redis';
import { lock } from 'simple-redis-mutex';
import { ttlMs } from './ttl.mjs';

/** @type {import('./index.mjs').Competitor} */
export const simpleRedisMutex = {
  name: 'simple-redis-mutex',
  group: 'peer',
  package: 'simple-redis-mutex',
  settings:
    'On node-redis. It wakes every waiter by Pub/Sub; `pollingInterval: 1000` instead of 10 s, so that a wake-up ' +
    'that went wrong does not decide the figures.',
  async open(url) {
    const redis = createClient({ url });
    redis.on('error', () => {});
    await redis.connect();
    return {
      acquire: (key) => lock(redis, key, { timeout: ttlMs, pollingInterval: 1_000 }),
      close: () => redis.destroy(),
    };
  },
};
