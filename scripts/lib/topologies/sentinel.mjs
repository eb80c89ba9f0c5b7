import { findRedisServer } from '../find-binary.mjs';
import { startRedis } from '../redis-server.mjs';
import { startServer } from '../server-process.mjs';
import { all, ask, isInSync, until } from './ask.mjs';
import { stopAll, together } from './nodes.mjs';
import { SentinelServer } from './sentinel-server.mjs';

/** @typedef {import('../redis-server.mjs').RedisServer} RedisServer */
/** @typedef {import('../server-process.mjs').ServerProcess} ServerProcess */

const name = 'locks';

/**
 * @typedef {object} SentinelParts
 * @property {string} name
 * @property {RedisServer} master as started
 * @property {RedisServer[]} replicas as started
 * @property {RedisServer[]} nodes all that hold data
 * @property {SentinelServer[]} sentinels
 * @property {{ sentinels: { host: string, port: number }[], name: string }} connection ioredis' options
 * @property {() => Promise<RedisServer>} currentMaster the one that a sentinel names
 * @property {() => Promise<Set<number>>} namedMasters the ports of those that any sentinel names
 * @property {() => Promise<void>} stop
 */

/** @typedef {SentinelParts & AsyncDisposable} SentinelGroup */

/** @param {unknown} reply */
function fields(reply) {
  const flat = /** @type {string[]} */ (reply);
  return Object.fromEntries(flat.flatMap((field, i) => (i % 2 === 0 ? [[field, flat[i + 1] ?? '']] : [])));
}

/**
 * @param {ServerProcess} sentinel
 * @param {number} replicas
 * @param {number} sentinels
 */
async function knowsAll(sentinel, replicas, sentinels) {
  const master = fields(await ask(sentinel, 'SENTINEL', 'MASTER', name));
  if (master.flags !== 'master' || Number(master['num-other-sentinels']) !== sentinels - 1) return false;
  const known = /** @type {unknown[]} */ (await ask(sentinel, 'SENTINEL', 'REPLICAS', name)).map(fields);
  const healthy = known.filter((one) => one.flags === 'slave' && one['master-link-status'] === 'ok');
  return healthy.length === replicas;
}

/**
 * The ports of the masters that the sentinels name that run.
 *
 * @param {SentinelServer[]} sentinels
 * @returns {Promise<number>[]}
 */
function namedMasters(sentinels) {
  return sentinels
    .filter((sentinel) => sentinel.pid !== undefined)
    .map(async (sentinel) => {
      const [, port] = /** @type {string[]} */ (await ask(sentinel, 'SENTINEL', 'GET-MASTER-ADDR-BY-NAME', name));
      return Number(port);
    });
}

/**
 * @param {SentinelServer[]} sentinels
 * @param {RedisServer[]} nodes
 */
async function currentMaster(sentinels, nodes) {
  const port = await Promise.any(namedMasters(sentinels));
  const master = nodes.find((node) => node.port === port);
  if (!master) throw new Error(`The sentinels name a master that is none of ours: port ${port}`);
  return master;
}

/**
 * Starts a master with replicas, and sentinels that replace it within seconds when it is gone. Returns when the
 * replicas are in sync and every sentinel knows them and the other sentinels.
 *
 * @param {object} [options]
 * @param {number} [options.replicas]
 * @param {number} [options.sentinels]
 * @param {string[]} [options.args] of the data servers
 * @param {string} [options.program] of all servers, such as `findValkeyServer()`
 * @returns {Promise<SentinelGroup>}
 */
export async function startSentinelGroup(options = {}) {
  const { replicas: replicaCount = 2, sentinels: sentinelCount = 3, args = [], program = findRedisServer() } = options;
  if (!program) throw new Error('There is no redis-server here: run node scripts/setup.mjs');
  /** @type {ServerProcess[]} */
  const started = [];
  const stop = () => stopAll(started);
  try {
    const diskless = ['--repl-diskless-sync', 'yes', '--repl-diskless-sync-delay', '0'];
    const master = await startRedis({ program, args: [...diskless, ...args] });
    started.push(master);
    const follow = ['--replicaof', `127.0.0.1 ${master.port}`, ...diskless, ...args];
    const replicas = await together(Array.from({ length: replicaCount }, () => startRedis({ program, args: follow })));
    started.push(...replicas);
    await until('the replicas are in sync', () => all(replicas, isInSync));

    const watched = { name, port: master.port, quorum: Math.floor(sentinelCount / 2) + 1 };
    const create = (/** @type {number} */ port) => new SentinelServer(program, port, watched);
    const sentinels = await together(
      Array.from({ length: sentinelCount }, () => startServer(create, undefined, (server) => server.prepare())),
    );
    started.push(...sentinels);
    await until('every sentinel knows all others', () =>
      all(sentinels, (sentinel) => knowsAll(sentinel, replicaCount, sentinelCount)),
    );

    const nodes = [master, ...replicas];
    return {
      name,
      master,
      replicas,
      nodes,
      sentinels,
      connection: { sentinels: sentinels.map(({ port }) => ({ host: '127.0.0.1', port })), name },
      currentMaster: () => currentMaster(sentinels, nodes),
      namedMasters: async () => new Set(await Promise.all(namedMasters(sentinels))),
      stop,
      [Symbol.asyncDispose]: stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}
