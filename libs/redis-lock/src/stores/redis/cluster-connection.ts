import { setTimeout as pause } from 'node:timers/promises';
import type { Cluster, Redis } from 'ioredis';
import { LockUnavailableError } from '../../lock/lock.errors.js';
import { runOutsideScopes } from '../../lock/scope.js';
import { clusterFenceKey } from './physical-key.js';
import { redirectionOf, type Redirection } from './redirection.js';
import { RedisConnection, type RedisConnectionOptions } from './redis-connection.js';
import { closeCluster, openCluster, openRedis, type RedisClusterSource } from './redis-options.js';
import type { Script } from './script.js';
import type { Servers } from './servers.js';
import { slotOf, tagOf } from './slots.js';

export interface ClusterConnectionOptions extends Omit<RedisConnectionOptions, 'source' | 'onBroken'> {
  readonly source: RedisClusterSource;
}

/** Between two attempts while a slot moves or is not served, in ms. */
const RETRY_MS = 50;

/** So many redirections are followed at once; two nodes that point at each other must not be asked without a pause. */
const AT_ONCE = 3;

/**
 * The masters of a Cluster, each over a connection of ours. Which node has which slot, an ioredis Cluster finds out; what
 * goes through it is nothing else, since it sends a command again when the connection breaks.
 */
export class ClusterConnection implements Servers {
  private readonly cluster: Cluster;
  private readonly nodes = new Map<string, RedisConnection>();
  /** What nodes have said about slots since the table was read last. */
  private readonly moved = new Map<number, string>();
  /** Nodes that are getting a slot; a new one has none until then, and is not in the table. */
  private readonly importing = new Set<string>();
  private broken = 0;
  private closed = false;
  private warnedOfOutage = false;

  /** @throws LockArgumentError when the source is none. */
  constructor(private readonly options: ClusterConnectionOptions) {
    this.cluster = openCluster(options.source, options.commandTimeoutMs);
    this.cluster.on('refresh', () => this.learn());
    this.cluster.on('error', (error: Error) => this.warnOfOutage(error));
  }

  get generation(): number {
    let sum = this.broken;
    for (const { generation } of this.nodes.values()) sum += generation;
    return sum;
  }

  nodeOf(lock: string): RedisConnection | undefined {
    const slot = slotOf(lock);
    const address = this.moved.get(slot) ?? this.cluster.slots[slot]?.[0];
    return address === undefined ? undefined : this.connectionTo(address);
  }

  fenceOf(prefix: string, lock: string): string {
    return clusterFenceKey(prefix, tagOf(slotOf(lock)));
  }

  async untilReady(name: string, withinMs: number, lock: string): Promise<void> {
    const since = performance.now();
    let reason: LockUnavailableError | undefined;
    for (;;) {
      const node = this.nodeOf(lock);
      if (node?.isReady) return;
      const left = withinMs - (performance.now() - since);
      if (this.closed) throw this.unreachable(name);
      if (left <= 0) throw reason ?? this.unreachable(name);
      this.refresh();
      // The slot may move to another node meanwhile.
      if (node)
        await node
          .untilReady(name, Math.min(left, 2 * RETRY_MS))
          .catch((error: LockUnavailableError) => (reason = error));
      else await pause(RETRY_MS);
    }
  }

  /** Follows a slot that moves, and waits for one that is not served, until the command timeout is over. */
  async run<Args extends readonly unknown[], Reply>(
    script: Script<Args, Reply>,
    name: string,
    keys: readonly [lock: string, ...others: string[]],
    args: Args,
    stillWanted?: () => boolean,
  ): Promise<Reply> {
    const since = performance.now();
    const { commandTimeoutMs } = this.options;
    let asking: RedisConnection | undefined;
    for (let attempt = 1; ; attempt++) {
      if (!asking && !this.nodeOf(keys[0])?.isReady) {
        await this.untilReady(name, commandTimeoutMs - (performance.now() - since), keys[0]);
      }
      const node = asking ?? this.nodeOf(keys[0]);
      try {
        if (node) return await node.run(script, name, keys, args, stillWanted, asking !== undefined);
      } catch (error) {
        asking = undefined;
        const redirection = redirectionOf(error);
        if (!redirection || this.closed) throw error;
        const { kind, address } = redirection;
        if (performance.now() - since >= commandTimeoutMs) throw stillMoving(name, kind, error);
        if (kind === 'ASK' && address) {
          this.importing.add(this.mapped(address));
          asking = this.connectionTo(this.mapped(address));
        } else {
          if (kind === 'MOVED' && address) this.moved.set(slotOf(keys[0]), this.mapped(address));
          this.refresh();
        }
        if (!address || attempt >= AT_ONCE) await pause(RETRY_MS * (0.5 + Math.random()));
      }
    }
  }

  /** A message reaches every node, whichever it is given to. */
  async askPermissionToPublish(channel: string): Promise<void> {
    const node = [...this.nodes.values()].find(({ isReady }) => isReady);
    if (!node) throw this.unreachable(channel);
    await node.askPermissionToPublish(channel);
  }

  openInbox(): Redis | undefined {
    const addresses = [...this.nodes.keys()];
    const address = addresses[Math.floor(Math.random() * addresses.length)];
    return address === undefined ? undefined : openRedis(this.optionsOf(address), this.options.commandTimeoutMs, false);
  }

  async close(): Promise<void> {
    this.closed = true;
    await Promise.all([
      closeCluster(this.cluster, this.options.commandTimeoutMs),
      ...[...this.nodes.values()].map(async (node) => node.close()),
    ]);
  }

  private connectionTo(address: string): RedisConnection {
    const known = this.nodes.get(address);
    if (known) return known;
    const { source: _, ...options } = this.options;
    const onBroken = (): void => this.refresh();
    const node = runOutsideScopes(() => new RedisConnection({ ...options, source: this.optionsOf(address), onBroken }));
    this.nodes.set(address, node);
    return node;
  }

  private optionsOf(address: string): object {
    const end = address.lastIndexOf(':');
    const { redisOptions } = this.cluster.options;
    return { ...redisOptions, host: address.slice(0, end), port: Number(address.slice(end + 1)) };
  }

  /** The address at which this process reaches a node that calls itself by another one. */
  private mapped(address: string): string {
    const { natMap } = this.cluster.options;
    const mapped = typeof natMap === 'function' ? natMap(address) : natMap?.[address];
    return mapped ? `${mapped.host}:${mapped.port}` : address;
  }

  private refresh(): void {
    if (!this.closed) runOutsideScopes(() => this.cluster.refreshSlotsCache(() => undefined));
  }

  /** The table of slots was read anew: every master gets a connection, and no other node but those that become one. */
  private learn(): void {
    if (this.closed) return;
    this.moved.clear();
    this.warnedOfOutage = false;
    const masters = new Set(this.cluster.slots.map((addresses) => addresses?.[0]));
    for (const address of masters) {
      if (address === undefined) continue;
      this.importing.delete(address);
      this.connectionTo(address);
    }
    for (const [address, node] of this.nodes) {
      if (masters.has(address) || this.importing.has(address)) continue;
      this.nodes.delete(address);
      this.broken += node.generation + 1;
      void node.retire();
    }
  }

  private unreachable(name: string): LockUnavailableError {
    if (this.closed)
      return new LockUnavailableError(name, 'the client was closed', { mayHaveRun: false, retryable: false });
    const what = 'no node of the Cluster is within reach';
    return new LockUnavailableError(name, what, { mayHaveRun: false });
  }

  private warnOfOutage(error: Error): void {
    if (this.warnedOfOutage || this.closed) return;
    this.warnedOfOutage = true;
    this.options.logger.warn(
      `The Cluster is out of reach, locks cannot be obtained until it is back: ${error.message}`,
    );
  }
}

/** Who is sent on and on has lost nothing by asking again later. */
function stillMoving(name: string, kind: Redirection['kind'], error: unknown): unknown {
  if (kind !== 'MOVED' && kind !== 'ASK') return error;
  const cause = error instanceof Error ? error.cause : undefined;
  return new LockUnavailableError(name, 'the slot of this key is moving to another node of the Cluster', {
    cause,
    mayHaveRun: false,
  });
}
