import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';

/** @typedef {import('../server-process.mjs').ServerProcess} ServerProcess */

const pollMs = 50;

/**
 * One command over a connection of its own: servers come and go here, and a client that waits for one to come back
 * would be in the way.
 *
 * @param {ServerProcess} server
 * @param {...(string | number)} command
 * @returns {Promise<unknown>} rejects when it does not answer within a second, or answers with an error
 */
export async function ask(server, ...command) {
  const [name = '', ...args] = command;
  const redis = new Redis({
    host: '127.0.0.1',
    port: server.port,
    lazyConnect: true,
    enableReadyCheck: false,
    disableClientInfo: true,
    connectTimeout: 1000,
    commandTimeout: 1000,
    disconnectTimeout: 50,
    retryStrategy: () => null,
  });
  redis.on('error', () => {}); // the command rejects as well
  try {
    await redis.connect();
    return await redis.call(String(name), ...args);
  } finally {
    redis.disconnect();
  }
}

/**
 * @param {ServerProcess} server
 * @returns {Promise<boolean>} whether it is a replica that has all that its master has
 */
export async function isInSync(server) {
  const info = String(await ask(server, 'INFO', 'replication'));
  return info.includes('master_link_status:up') && info.includes('master_sync_in_progress:0');
}

/**
 * Asks again and again until the answer is true; an error is as good as no.
 *
 * @param {string} what is waited for
 * @param {() => Promise<boolean>} condition
 * @param {number} [timeoutMs]
 */
export async function until(what, condition, timeoutMs = 30_000) {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    /** @type {unknown} */
    let cause;
    try {
      if (await condition()) return;
    } catch (error) {
      cause = error;
    }
    if (performance.now() > deadline) throw new Error(`Still not so after ${timeoutMs} ms: ${what}`, { cause });
    await sleep(pollMs);
  }
}

/**
 * @param {ServerProcess[]} servers
 * @param {(server: ServerProcess) => Promise<boolean>} condition
 */
export async function all(servers, condition) {
  return (await Promise.all(servers.map(condition))).every(Boolean);
}
