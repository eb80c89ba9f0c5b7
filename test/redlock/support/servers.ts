import { afterAll, afterEach, beforeAll, beforeEach, expect } from '@jest/globals';
import type { Redis } from 'ioredis';
import { createLockClient, type LockClient, type LockClientOptions } from 'nestjs-redis-lock';
import { RedlockLockStore } from '../../../libs/redis-lock/src/stores/redlock/redlock.store.js';
import { startRedis, type RedisServer } from '../../../scripts/lib/servers.mjs';
import { newRedis, uniquePrefix } from '../../support/redis.js';
import { waitFor } from '../../support/wait-for.js';

/** Private servers of Redis for the tests of one `describe`, and clients and stores on them that end with each test. */
export class RedlockServers {
  servers: RedisServer[] = [];
  redis: Redis[] = [];
  prefix = '';
  readonly warnings: string[] = [];
  private readonly opened: { close(): Promise<unknown> }[] = [];

  static use(count = 5): RedlockServers {
    const all = new RedlockServers();
    beforeAll(async () => {
      all.servers = await Promise.all(Array.from({ length: count }, async () => startRedis()));
      all.redis = all.servers.map(({ url }) => newRedis(url));
      for (const redis of all.redis) redis.on('error', () => {});
    });
    beforeEach(() => {
      all.prefix = uniquePrefix();
    });
    afterEach(async () => {
      for (const server of all.servers) server.resume();
      await Promise.all(all.opened.splice(0).map(async (each) => each.close()));
      all.warnings.length = 0;
    });
    afterAll(async () => {
      for (const redis of all.redis) redis.disconnect();
      await Promise.all(all.servers.map(async (server) => server.stop()));
    });
    return all;
  }

  get urls(): string[] {
    return this.servers.map(({ url }) => url);
  }

  /** Closed after the test. */
  closing<T extends { close(): Promise<unknown> }>(opened: T): T {
    this.opened.push(opened);
    return opened;
  }

  /** A client whose nodes are all connected. */
  async client(options: Partial<LockClientOptions> = {}): Promise<LockClient> {
    const logger = { warn: (message: string) => this.warnings.push(message) };
    const { prefix } = this;
    const client = createLockClient({ nodes: this.urls, prefix, shutdown: { drain: 0 }, logger, ...options });
    this.closing(client);
    const areConnected = async (): Promise<boolean> => {
      const lock = await client.acquire('connected', { wait: 0 }).catch(() => undefined);
      await waitFor(() => !lock || lock.nodes === this.servers.length, { timeoutMs: 500 }).catch(() => undefined);
      const nodes = lock?.nodes;
      await lock?.release();
      return nodes === this.servers.length;
    };
    await waitFor(areConnected, { timeoutMs: 30_000 });
    return client;
  }

  async store({ nodeTimeoutMs = 50, fencing = true, nodes = this.urls } = {}): Promise<RedlockLockStore> {
    const logger = { warn: (message: string) => this.warnings.push(message) };
    const { prefix } = this;
    const made = new RedlockLockStore({ nodes, prefix, nodeTimeoutMs, commandTimeoutMs: 1_000, fencing, logger });
    const store = this.closing(made);
    const areConnected = async (): Promise<boolean> => {
      const hold = { key: 'connected', member: 'm#0' };
      const reply = await store.acquire({ ...hold, leaseMs: 5_000, withinMs: 1_000 }).catch(() => undefined);
      const nodesOf = (): number | undefined => (reply?.status === 'acquired' ? reply.nodes : 0);
      await waitFor(() => nodesOf() === 0 || nodesOf() === nodes.length, { timeoutMs: 500 }).catch(() => undefined);
      await store.release({ ...hold, minHoldMs: 0 }).catch(() => undefined);
      return nodesOf() === nodes.length;
    };
    await waitFor(areConnected, { timeoutMs: 30_000 });
    return store;
  }

  nameOf(key: string): string {
    return `${this.prefix}:{${key}}`;
  }

  get fence(): string {
    return `${this.prefix}:fence`;
  }

  /** The holds of a key, node by node. */
  async holds(key: string): Promise<string[][]> {
    return Promise.all(this.redis.map(async (redis) => redis.hkeys(this.nameOf(key))));
  }

  /** Everything of this test but the counters, on all nodes. */
  async left(): Promise<string[]> {
    const names = await Promise.all(this.redis.map(async (redis) => redis.keys(`${this.prefix}*`)));
    return names.flat().filter((name) => name !== this.fence);
  }

  async expectNothingLeft(): Promise<void> {
    await waitFor(async () => (await this.left()).length === 0, { timeoutMs: 3_000 }).catch(() => undefined);
    expect(await this.left()).toEqual([]);
  }
}
