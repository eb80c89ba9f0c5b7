import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
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
 * @param {import('../lib/cleanup.mjs').Cleanup} cleanup
 * @returns {Promise<Servers>}
 */
export async function startServers(cleanup) {
  const name = `flash_sale_demo_${randomBytes(6).toString('hex')}`;
  const [redisUrl, databaseUrl] = await Promise.all([
    givenServer('REDIS_URL', 6379) ?? privateServer(startRedis(), cleanup),
    givenServer('DATABASE_URL', 3306) ?? privateServer(startMariadb(), cleanup),
  ]);
  if (process.env.REDIS_URL) cleanup.add(() => deleteKeys(redisUrl, `${name}:*`));
  return { redisUrl, databaseUrl, name };
}

/** A server that was named in the environment is not there: a message for a person, not a fault of the demo. */
export class UnreachableError extends Error {}

/**
 * @param {string} variable
 * @param {number} defaultPort
 */
function givenServer(variable, defaultPort) {
  const url = process.env[variable];
  return url ? checkAnswers(variable, url, defaultPort) : undefined;
}

/**
 * @param {string} variable
 * @param {string} url
 * @param {number} defaultPort
 */
async function checkAnswers(variable, url, defaultPort) {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port) || defaultPort, timeout: 5_000 });
  try {
    socket.once('timeout', () => socket.destroy(new Error('timeout')));
    await once(socket, 'connect');
    return url;
  } catch (cause) {
    throw new UnreachableError(`${variable}: nothing answers at ${hostname}:${port || defaultPort}`, { cause });
  } finally {
    socket.destroy();
  }
}

/**
 * @param {Promise<import('../lib/servers.mjs').RedisServer | import('../lib/servers.mjs').MariadbServer>} starting
 * @param {import('../lib/cleanup.mjs').Cleanup} cleanup
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
