import { once } from 'node:events';
import { Agent, request } from 'node:http';

const connectionsPerNode = 32;

/**
 * @typedef {object} BurstResult
 * @property {number} requests
 * @property {Record<string, number>} answers how many, by status
 * @property {number} ms
 */

/**
 * All users click at the same time, and each user's clicks go to different nodes in the same tick of the event loop.
 *
 * @param {string[]} urls one of the same route at each node
 * @param {number} users
 * @param {number} clicks of each user
 * @returns {Promise<BurstResult>}
 */
export async function burst(urls, users, clicks) {
  const nodes = urls.map((url) => ({ url, agent: new Agent({ keepAlive: true, maxSockets: connectionsPerNode }) }));
  /** @type {Record<string, number>} */
  const answers = {};
  /** @param {number} user */
  const clicksOf = (user) =>
    Array.from({ length: clicks }, async (_, click) => {
      const { url, agent } = /** @type {(typeof nodes)[0]} */ (nodes[click % nodes.length]);
      const status = await post(url, agent, user);
      answers[status] = (answers[status] ?? 0) + 1;
    });
  const started = performance.now();
  try {
    await Promise.all(Array.from({ length: users }, (_, index) => clicksOf(index + 1)).flat());
  } finally {
    for (const { agent } of nodes) agent.destroy();
  }
  return { requests: users * clicks, answers, ms: Math.round(performance.now() - started) };
}

/**
 * @param {string} url
 * @param {Agent} agent
 * @param {number} user
 */
async function post(url, agent, user) {
  const sent = request(url, { method: 'POST', agent, headers: { 'x-user-id': user, 'content-length': 0 } }).end();
  const [response] = /** @type {[import('node:http').IncomingMessage]} */ (await once(sent, 'response'));
  const ended = once(response, 'end');
  response.resume();
  await ended;
  return String(response.statusCode);
}
