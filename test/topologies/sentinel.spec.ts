import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import type { LockEvents } from 'nestjs-redis-lock';
import { once } from 'node:events';
import { storeContract } from 'nestjs-redis-lock/testing';
import { RedisLockStore } from '../../libs/redis-lock/src/stores/redis/redis.store.js';
import { startSentinelGroup } from '../../scripts/lib/topologies/index.mjs';
import { deferred, waitFor } from '../support/wait-for.js';
import { Clients } from './support/clients.js';
import { describeWithRedisServer, newRedis, uniquePrefix } from '../support/redis.js';
import { Crowd } from './support/crowd.js';

describeWithRedisServer('A master with replicas and Sentinels', () => {
  let group: Awaited<ReturnType<typeof startSentinelGroup>>;
  const clients = Clients.use(() => group.connection);

  beforeAll(async () => {
    group = await startSentinelGroup();
  });
  afterAll(async () => group.stop());

  test.each(
    storeContract(async () => {
      const logger = { warn: () => {} };
      const { connection } = group;
      const store = new RedisLockStore({ connection, prefix: uniquePrefix(), commandTimeoutMs: 10_000, logger });
      return { store, close: async () => store.close() };
    }),
  )('keeps the contract: $name', async ({ run }) => {
    await expect(run()).resolves.toBeUndefined();
  });

  test('is reached through a client of the user, which stays as it is', async () => {
    const own = new Redis({ ...group.connection, keyPrefix: 'app:' });
    try {
      await waitFor(() => own.status === 'ready');
      const client = clients.make({ connection: own });
      await client.run('order', async () => expect(await clients.make().isLocked('order')).toBe(true));
      await client.close();
      expect(own.status).toBe('ready');
    } finally {
      own.disconnect();
    }
  });

  test('a lock of which no replica had heard is gone with its master, and reported as lost', async () => {
    const failed = await group.currentMaster();
    const replicas = group.nodes.filter((node) => node !== failed);
    const holder = clients.make({ ttl: '12s' });
    const lost = once(holder.events, 'lost');
    const master = newRedis(failed.url);
    for (const replica of replicas) replica.pause();
    await master.client('KILL', 'TYPE', 'replica');
    const held = await holder.acquire('unheard');
    master.disconnect();
    await failed.kill();
    for (const replica of replicas) replica.resume();

    const [{ key, reason }] = (await lost) as [LockEvents['lost'][0]];
    expect({ key, reason, held: held.held }).toEqual({ key: 'unheard', reason: 'taken', held: false });
    expect(await held.release()).toBe('lost');
    await clients.make().run('unheard', (lock) => expect(lock.fencingToken).toBeGreaterThan(held.fencingToken));
  }, 180_000);

  test('case 43: the master is killed while clients contend → all go on, tokens grow, and what was lost is reported', async () => {
    const contenders = Array.from({ length: 5 }, () => clients.make({ ttl: '2s' }));
    const lost: string[] = [];
    const holder = clients.make({ ttl: '3s' });
    holder.events.on('lost', ({ key }) => lost.push(key));
    const held = await holder.acquire('long');
    const crowd = new Crowd(contenders, ['order'], 4);
    await crowd.more(50);

    const failed = await group.currentMaster();
    await failed.kill();
    await waitFor(async () => (await group.currentMaster()) !== failed, { timeoutMs: 60_000 });
    await crowd.more(50, 60_000);
    await crowd.stop();
    expect(crowd.outOfOrder).toBe(0);

    // The lock was replicated or it was not: it is held, or reported as lost.
    const isHeld = held.held;
    expect(lost).toEqual(isHeld ? [] : ['long']);
    expect(await held.release()).toBe(isHeld ? 'released' : 'lost');
    await clients.make().run('long', (lock) => expect(lock.fencingToken).toBeGreaterThan(held.fencingToken));

    const settled = deferred();
    void clients.close().then(() => settled.resolve());
    await settled.promise;
  }, 180_000);
});
