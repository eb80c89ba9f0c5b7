import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { startCluster, startNodes, startSentinelGroup } from '../../scripts/lib/topologies/index.mjs';
import type { LockStore } from '../../libs/redis-lock/src/stores/lock-store.js';
import { describeWithRedisServer, uniquePrefix } from '../support/redis.js';

// From here on everything that is imported has ioredis 6; so nothing above may import the library.
jest.unstable_mockModule('ioredis', async () => import('ioredis6'));
const ioredis6 = await import('ioredis6');
const { storeContract } = await import('nestjs-redis-lock/testing');
const { RedisLockStore } = await import('../../libs/redis-lock/src/stores/redis/redis.store.js');
const { RedlockLockStore } = await import('../../libs/redis-lock/src/stores/redlock/redlock.store.js');

interface Servers {
  stop(): Promise<unknown>;
  /** A store on these servers. */
  store(): LockStore;
}

const COMMON = { commandTimeoutMs: 10_000, logger: { warn: () => undefined } };

describeWithRedisServer('The contract with ioredis 6', () => {
  describe.each<[string, () => Promise<Servers>]>([
    [
      'Sentinels',
      async () => {
        const { connection, stop } = await startSentinelGroup();
        return { stop, store: () => new RedisLockStore({ ...COMMON, connection, prefix: uniquePrefix() }) };
      },
    ],
    [
      'a Cluster',
      async () => {
        const cluster = await startCluster();
        const connection = { cluster: cluster.seeds };
        const store = (): LockStore => new RedisLockStore({ ...COMMON, connection, prefix: uniquePrefix() });
        return { stop: async () => cluster.stop(), store };
      },
    ],
    [
      'three independent nodes',
      async () => {
        const started = await startNodes(3);
        const options = { ...COMMON, nodes: started.map(({ url }) => url), nodeTimeoutMs: 1_000, fencing: true };
        return {
          stop: async () => Promise.all(started.map(async (server) => server.stop())),
          store: () => new RedlockLockStore({ ...options, prefix: uniquePrefix() }),
        };
      },
    ],
  ])('on %s', (_, start) => {
    let servers: Servers;
    beforeAll(async () => {
      servers = await start();
    });
    afterAll(async () => servers.stop());

    test('it is ioredis 6', async () => {
      expect(await import('ioredis')).toHaveProperty('Redis', ioredis6.Redis);
    });

    test.each(
      storeContract(async () => {
        const store = servers.store();
        return { store, close: async () => store.close() };
      }),
    )('$name', async (check) => {
      await expect(check.run()).resolves.toBeUndefined();
    });
  });
});
