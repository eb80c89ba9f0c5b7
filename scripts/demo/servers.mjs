import { randomBytes } from 'node:crypto';
import { Redis } from 'ioredis';
import { startMariadb, startRedis } from '../lib/servers.mjs';

/**
 * @typedef {object} Servers
 * @property {string} redisUrl
 * @property {string} databaseUrl
 * @property {string} name of our own: in front of every Redis key and every database
 */

/**
 * Private servers, or those of REDIS_URL and DATABASE_URL.
 *
 * @param {import('./cleanup.mjs').Cleanup} cleanup
 * @returns {Promise<Servers>}
 */
export async function startServers(cleanup) {
  const name = `flash_sale_demo_${randomBytes(6).toString('hex')}`;
  const [redisUrl, databaseUrl] = await Promise.all([
    process.env.REDIS_URL ?? privateServer(startRedis(), cleanup),
    process.env.DATABASE_URL ?? privateServer(startMariadb(), cleanup),
  ]);
  if (process.env.REDIS_URL) cleanup.add(() => deleteKeys(redisUrl, `${name}:*`));
  return { redisUrl, databaseUrl, name };
}

/**
 * @param {Promise<import('../lib/servers.mjs').RedisServer | import('../lib/servers.mjs').MariadbServer>} starting
 * @param {import('./cleanup.mjs').Cleanup} cleanup
 */
async function privateServer(starting, cleanup) {
  const server = await starting;
  cleanup.add(() => server.stop());
  return server.url;
}

/**
 * @param {string} redisUrl
 * @param {string} pattern
 */
async function deleteKeys(redisUrl, pattern) {
  const redis = new Redis(redisUrl, { maxRetriesPerRequest: 1 });
  try {
    for await (const keys of redis.scanStream({ match: pattern, count: 1_000 })) {
      if (keys.length > 0) await redis.unlink(keys);
    }
  } finally {
    redis.disconnect();
  }
}
