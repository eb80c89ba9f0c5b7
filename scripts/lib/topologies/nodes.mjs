import { startRedis } from '../redis-server.mjs';

/** @typedef {import('../server-process.mjs').ServerProcess} ServerProcess */

/**
 * @template {ServerProcess} T
 * @param {Promise<T>[]} starting
 * @returns {Promise<T[]>} all of them or, when one does not come up, none
 */
export async function together(starting) {
  const results = await Promise.allSettled(starting);
  const servers = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
  const failed = results.find((result) => result.status === 'rejected');
  if (!failed) return servers;
  await stopAll(servers);
  throw failed.reason;
}

/** @param {ServerProcess[]} servers */
export async function stopAll(servers) {
  await Promise.all(servers.map((server) => server.stop()));
}

/**
 * Starts servers that know nothing of each other.
 *
 * @param {number} count
 * @param {Omit<import('../redis-server.mjs').StartRedisOptions, 'port'>} [options]
 */
export function startNodes(count, options = {}) {
  return together(Array.from({ length: count }, () => startRedis(options)));
}
