import { setTimeout as sleep } from 'node:timers/promises';
import { findFaketime, startRedis } from '../lib/servers.mjs';
import { ask, isInSync, until } from '../lib/topologies/ask.mjs';
import { together as allOrNone } from '../lib/topologies/nodes.mjs';
import { startCluster, startSentinelGroup } from '../lib/topologies/index.mjs';
import { LONGEST_LEASE_MS, PLAIN, SHARED } from './locks.mjs';

/** @typedef {import('../lib/redis-server.mjs').RedisServer} RedisServer */

/**
 * Something that goes wrong, and has passed when the promise is settled; `pick` and `share` are from 0 to 1, see plan.mjs.
 *
 * @typedef {(pick: number, share: number) => Promise<void>} Fault
 */

/**
 * @typedef {object} Servers
 * @property {import('nestjs-redis-lock').LockClientOptions} options where the locks are
 * @property {readonly RedisServer[]} nodes all that may hold locks
 * @property {Record<string, Fault>} faults
 * @property {boolean} shares whether there are semaphores and read/write locks
 * @property {() => Promise<void>} stop
 */

/**
 * Beyond this nobody can believe in a lock of a server that has forgotten it: a grant counts for three seconds until it
 * is confirmed.
 */
const FORGOTTEN_AFTER_MS = 3_300;

/** Beyond the longest lease and its drift: Redlock grants nothing that is not confirmed. */
const REDLOCK_FORGOTTEN_AFTER_MS = LONGEST_LEASE_MS + 300;

/** For how long a server hangs at most; less than Sentinel and Cluster need to take it for dead. */
const HANGS_MS = 800;

/** @type {Record<import('./options.mjs').Topology, () => Promise<Servers>>} */
export const start = { single, sentinel, cluster, redlock };

/**
 * @template T
 * @param {readonly T[]} items
 * @param {number} pick from 0 to 1
 */
function at(items, pick) {
  return /** @type {T} */ (items[Math.floor(pick * items.length)]);
}

/**
 * What can happen to any servers of Redis.
 *
 * @param {readonly RedisServer[]} nodes
 * @returns {Record<string, Fault>}
 */
function common(nodes) {
  return {
    'connections broken': async (pick) => {
      const type = pick < 0.5 ? 'normal' : 'pubsub';
      await toAll(nodes, 'CLIENT', 'KILL', 'TYPE', type);
    },
    'scripts forgotten': async () => toAll(nodes, 'SCRIPT', 'FLUSH'),
  };
}

/**
 * Those that answer do it.
 *
 * @param {readonly RedisServer[]} nodes
 * @param {...string} command
 */
async function toAll(nodes, ...command) {
  await Promise.allSettled(nodes.map(async (node) => ask(node, ...command)));
}

/**
 * @param {RedisServer} server
 * @param {number} ms
 */
async function hang(server, ms) {
  server.pause();
  await sleep(ms);
  server.resume();
}

/**
 * @param {readonly RedisServer[]} servers
 * @param {number} ms
 */
async function forget(servers, ms) {
  await Promise.all(servers.map(async (server) => server.kill()));
  await sleep(ms);
  await Promise.all(servers.map(async (server) => server.start()));
}

/** @returns {Promise<Servers>} */
async function single() {
  const server = await startRedis();
  return {
    options: { connection: server.url },
    nodes: [server],
    shares: true,
    faults: {
      ...common([server]),
      'server hangs': async (_, share) => hang(server, 100 + share * 2_000),
      'server restarted empty': async () => forget([server], FORGOTTEN_AFTER_MS),
    },
    stop: async () => server.stop(),
  };
}

/** @returns {Promise<Servers>} */
async function sentinel() {
  const group = await startSentinelGroup();
  const { nodes, connection } = group;
  /** Whether a master and a replica in sync are there. */
  const isWhole = async () => {
    const master = await group.currentMaster();
    const others = nodes.filter((node) => node !== master);
    const synced = await Promise.allSettled(others.map(isInSync));
    return synced.some((one) => one.status === 'fulfilled' && one.value);
  };
  return {
    options: { connection },
    nodes,
    shares: true,
    faults: {
      ...common(nodes),
      'master hangs': async (_, share) => hang(await group.currentMaster(), 50 + share * (HANGS_MS - 50)),
      'master killed': async () => {
        await until('a replica is in sync', isWhole);
        const master = await group.currentMaster();
        await master.kill();
        // Back before all know of the new master, it would be taken for the master that it was.
        await until('all Sentinels name another master', async () => !(await group.namedMasters()).has(master.port));
        await master.start();
      },
      'replica killed': async (pick) => {
        const master = await group.currentMaster();
        const replica = at(
          nodes.filter((node) => node !== master),
          pick,
        );
        await replica.restart();
        await until('a replica is in sync', isWhole);
      },
    },
    stop: group.stop,
  };
}

/** @returns {Promise<Servers>} */
async function cluster() {
  const made = await startCluster();
  const { nodes, seeds } = made;
  const slotCount = 16_384;
  const masterAt = (/** @type {number} */ pick) => made.masterOf(Math.floor(pick * slotCount));
  const slotOf = async (/** @type {string} */ key) =>
    Number(await ask(/** @type {RedisServer} */ (nodes[0]), 'CLUSTER', 'KEYSLOT', key));
  const isWhole = async () => {
    const infos = await Promise.all(nodes.map(async (node) => String(await ask(node, 'CLUSTER', 'INFO'))));
    const masters = await Promise.all([0, 0.5, 0.99].map(masterAt));
    const replicas = await Promise.all(masters.map((master) => made.replicaOf(master)));
    const synced = await Promise.all(replicas.map(isInSync));
    return infos.every((info) => info.includes('cluster_state:ok')) && synced.every(Boolean);
  };
  const untilWhole = () => until('the cluster is whole', isWhole);
  return {
    options: { connection: { cluster: seeds } },
    nodes,
    shares: true,
    faults: {
      ...common(nodes),
      'master hangs': async (pick, share) => hang(await masterAt(pick), 50 + share * (HANGS_MS - 50)),
      'slot moved': async (pick, share) => {
        await untilWhole();
        const slot = await slotOf(at(Object.keys({ ...PLAIN, ...SHARED }), pick));
        const from = await made.masterOf(slot);
        const masters = await Promise.all([0, 0.5, 0.99].map(masterAt));
        const others = masters.filter((master) => master !== from);
        await made.moveSlot(slot, at(others, share));
      },
      'replica takes over': async (pick) => {
        await untilWhole();
        await made.failover(await made.replicaOf(await masterAt(pick)));
      },
      'master killed': async (pick) => {
        await untilWhole();
        const slot = Math.floor(pick * slotCount);
        const master = await made.masterOf(slot);
        await master.kill();
        await until('a replica has taken over', async () => (await made.masterOf(slot)) !== master);
        await master.start();
      },
    },
    stop: async () => made.stop(),
  };
}

/** @returns {Promise<Servers>} */
async function redlock() {
  // Where a clock can be set, that of one node is wrong.
  const off = findFaketime() ? ['+30s'] : [];
  const clocks = [...off, ...Array.from({ length: 5 - off.length }, () => undefined)];
  const nodes = await allOrNone(clocks.map(async (clockOffset) => startRedis({ clockOffset })));
  return {
    options: { nodes: nodes.map(({ url }) => url) },
    nodes,
    shares: false,
    faults: {
      ...common(nodes),
      'node hangs': async (pick, share) => hang(at(nodes, pick), 50 + share * 2_000),
      'node restarted empty': async (pick) => forget([at(nodes, pick)], REDLOCK_FORGOTTEN_AFTER_MS),
      'two nodes restarted empty': async (pick) => {
        const first = Math.floor(pick * nodes.length);
        const two = [nodes[first], nodes[(first + 1) % nodes.length]];
        await forget(/** @type {RedisServer[]} */ (two), REDLOCK_FORGOTTEN_AFTER_MS);
      },
    },
    stop: async () => {
      await Promise.all(nodes.map(async (node) => node.stop()));
    },
  };
}
