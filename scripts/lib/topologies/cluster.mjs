import { ask, isInSync, until } from './ask.mjs';
import { startClusterNode } from './cluster-node.mjs';
import { idOf, owns, selfViews, viewOf } from './cluster-view.mjs';
import { allSee, formCluster } from './form-cluster.mjs';
import { stopAll, together } from './nodes.mjs';

/** @typedef {import('../redis-server.mjs').RedisServer} RedisServer */

/** A Redis Cluster of our own. Its methods ask the nodes that answer, so they also work while others are down. */
export class Cluster {
  /** @param {RedisServer[]} nodes the masters as started, then the replicas in the same order */
  constructor(nodes) {
    this.nodes = nodes;
    this.seeds = nodes.map(({ port }) => ({ host: '127.0.0.1', port }));
    /** What a user gives as the connection. */
    this.connection = this.seeds;
  }

  get #running() {
    return this.nodes.filter(({ pid }) => pid !== undefined);
  }

  /** @param {number} slot */
  async masterOf(slot) {
    const owners = (await selfViews(this.#running)).filter(({ self }) => owns(self, slot));
    // One that was replaced may not know it yet.
    const [newest] = owners.sort((a, b) => b.self.epoch - a.self.epoch);
    if (!newest) throw new Error(`No node has slot ${slot}`);
    return newest.node;
  }

  /** @param {RedisServer} server a master, also one that is down */
  async replicaOf(server) {
    const views = await selfViews(this.#running);
    for (const { node, self } of views) {
      if (self.flags.includes('slave') && (await this.#portOf(node, self.masterId)) === server.port) return node;
    }
    throw new Error(`The node at port ${server.port} has no replica`);
  }

  /**
   * Moves a slot and its keys, and returns when all nodes know it.
   *
   * @param {number} slot
   * @param {RedisServer} to a master
   */
  async moveSlot(slot, to) {
    await this.beginMove(slot, to);
    await this.finishMove(slot, to);
  }

  /**
   * From now on the slot's old master answers ASK for every key that it does not have. The others are still there.
   *
   * @param {number} slot
   * @param {RedisServer} to
   */
  async beginMove(slot, to) {
    const from = await this.masterOf(slot);
    await ask(to, 'CLUSTER', 'SETSLOT', slot, 'IMPORTING', await idOf(from));
    await ask(from, 'CLUSTER', 'SETSLOT', slot, 'MIGRATING', await idOf(to));
  }

  /**
   * @param {number} slot
   * @param {RedisServer} to
   */
  async finishMove(slot, to) {
    const from = await this.masterOf(slot);
    for (;;) {
      const keys = /** @type {string[]} */ (await ask(from, 'CLUSTER', 'GETKEYSINSLOT', slot, 100));
      if (keys.length === 0) break;
      await ask(from, 'MIGRATE', '127.0.0.1', to.port, '', 0, 1000, 'KEYS', ...keys);
    }
    const id = await idOf(to);
    const masters = (await selfViews(this.#running)).filter(({ self }) => self.flags.includes('master'));
    // The new owner first: were it last, nobody would have the slot in between.
    await ask(to, 'CLUSTER', 'SETSLOT', slot, 'NODE', id);
    await ask(from, 'CLUSTER', 'SETSLOT', slot, 'NODE', id);
    for (const { node } of masters) {
      if (node !== to && node !== from) await ask(node, 'CLUSTER', 'SETSLOT', slot, 'NODE', id);
    }
    await until(`all nodes know the new master of slot ${slot}`, () =>
      allSee(this.#running, (members) => members.some((member) => member.id === id && owns(member, slot))),
    );
  }

  /**
   * Makes a replica the master in place of a master that is up, and returns when all nodes know it and the old master
   * is in sync as its replica.
   *
   * @param {RedisServer} replica
   */
  async failover(replica) {
    const [view] = await selfViews([replica]);
    if (!view?.self.flags.includes('slave')) throw new Error(`The node at port ${replica.port} is no replica`);
    const { id, masterId } = view.self;
    const oldPort = await this.#portOf(replica, masterId);
    const old = this.nodes.find(({ port }) => port === oldPort);
    await ask(replica, 'CLUSTER', 'FAILOVER');
    await until(`the node at port ${replica.port} is master`, () =>
      allSee(this.#running, (members) => {
        const promoted = members.find((member) => member.id === id);
        const demoted = members.find((member) => member.id === masterId);
        return Boolean(promoted?.flags.includes('master') && promoted.slots.length > 0 && demoted?.masterId === id);
      }),
    );
    if (old) await until('the old master is in sync', () => isInSync(old));
  }

  stop() {
    return stopAll(this.nodes);
  }

  [Symbol.asyncDispose]() {
    return this.stop();
  }

  /**
   * @param {RedisServer} node who is asked
   * @param {string} id
   */
  async #portOf(node, id) {
    return (await viewOf(node)).find((member) => member.id === id)?.port;
  }
}

/**
 * Starts a cluster. Returns when every node says that its state is ok and knows all others, and the replicas are in
 * sync.
 *
 * @param {object} [options]
 * @param {number} [options.masters]
 * @param {number} [options.replicasPerMaster]
 * @param {string[]} [options.args]
 * @param {string} [options.program] such as `findValkeyServer()`
 */
export async function startCluster({ masters = 3, replicasPerMaster = 1, ...options } = {}) {
  const count = masters * (1 + replicasPerMaster);
  const nodes = await together(Array.from({ length: count }, () => startClusterNode(options)));
  try {
    await formCluster(nodes.slice(0, masters), nodes.slice(masters));
    return new Cluster(nodes);
  } catch (error) {
    await stopAll(nodes);
    throw error;
  }
}
