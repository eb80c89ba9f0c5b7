import { all, ask, isInSync, until } from './ask.mjs';
import { idOf, viewOf } from './cluster-view.mjs';

/** @typedef {import('../server-process.mjs').ServerProcess} ServerProcess */

export const slotCount = 16_384;

/**
 * @param {ServerProcess[]} nodes
 * @param {(members: import('./cluster-view.mjs').Member[]) => boolean} condition
 */
export function allSee(nodes, condition) {
  return all(nodes, async (node) => condition(await viewOf(node)));
}

/** @param {ServerProcess} node */
async function isOk(node) {
  return String(await ask(node, 'CLUSTER', 'INFO')).includes('cluster_state:ok');
}

/**
 * Makes a cluster of servers that do not know each other yet.
 *
 * @param {ServerProcess[]} masters
 * @param {ServerProcess[]} replicas the first one follows the first master, and so on, over and over
 */
export async function formCluster(masters, replicas) {
  const nodes = [...masters, ...replicas];
  await Promise.all(nodes.map((node, i) => ask(node, 'CLUSTER', 'SET-CONFIG-EPOCH', i + 1)));
  const start = (/** @type {number} */ i) => Math.round((i * slotCount) / masters.length);
  await Promise.all(masters.map((master, i) => ask(master, 'CLUSTER', 'ADDSLOTSRANGE', start(i), start(i + 1) - 1)));
  // Gossip alone would tell everybody of everybody some time: this is faster.
  await Promise.all(
    nodes.flatMap((node, i) => nodes.slice(i + 1).map(({ port }) => ask(node, 'CLUSTER', 'MEET', '127.0.0.1', port))),
  );
  await until('all nodes know all', () =>
    allSee(
      nodes,
      (members) =>
        members.length === nodes.length &&
        members.every(({ flags, connected }) => connected && !flags.includes('handshake')),
    ),
  );
  const masterIds = await Promise.all(masters.map(idOf));
  await Promise.all(
    replicas.map((replica, i) => ask(replica, 'CLUSTER', 'REPLICATE', masterIds[i % masters.length] ?? '')),
  );
  await until('the replicas are in sync', () => all(replicas, isInSync));
  await until('all nodes know the replicas', () =>
    allSee(nodes, (members) => members.filter(({ flags }) => flags.includes('slave')).length === replicas.length),
  );
  await until('the state of the cluster is ok', () => all(nodes, isOk));
}
