import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { ttlMs } from './ttl.mjs';

const release = `if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end`;

/**
 * What any lock on Redis costs at least: one command to take it, one script to give it back.
 *
 * @type {import('./index.mjs').Competitor}
 */
export const floor = {
  name: 'floor',
  group: 'floor',
  package: 'ioredis',
  settings: 'Bare ioredis with its defaults: `SET NX PX`, and one `EVALSHA` that compares and deletes. No waiting.',
  waits: false,
  async open(url) {
    const redis = new Redis(url);
    const sha = /** @type {string} */ (await redis.script('LOAD', release));
    return {
      async acquire(key) {
        const token = randomUUID();
        const taken = await redis.set(key, token, 'PX', ttlMs, 'NX');
        if (taken !== 'OK') throw new Error(`"${key}" is held`);
        return () => redis.evalsha(sha, 1, key, token);
      },
      close: () => redis.disconnect(),
    };
  },
};
