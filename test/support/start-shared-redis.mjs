import { findRedisServer, startRedis } from '../../scripts/lib/servers.mjs';

/** @typedef {typeof globalThis & { sharedRedis?: import('../../scripts/lib/servers.mjs').RedisServer }} Shared */

/** One Redis for all tests that do nothing to the server itself: each takes a prefix of its own. */
export default async function startSharedRedis() {
  if (process.env.REDIS_URL) {
    process.env.TEST_REDIS_URL = process.env.REDIS_URL;
  } else if (findRedisServer()) {
    const redis = await startRedis();
    /** @type {Shared} */ (globalThis).sharedRedis = redis;
    process.env.TEST_REDIS_URL = redis.url;
  }
}
