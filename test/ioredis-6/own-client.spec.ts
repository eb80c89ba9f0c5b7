import { expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { Cluster as Cluster6, Redis as Redis6, type RedisOptions } from 'ioredis6';
import { startCluster } from '../../scripts/lib/topologies/index.mjs';
import { LockFixture } from '../cases/support/lock-fixture.js';
import { untilListening } from '../faults/support/queue.js';
import { describeWithRedisServer } from '../support/redis.js';
import { waitFor } from '../support/wait-for.js';

describeWithRedisServer("The user's client of ioredis 6, and a library with ioredis 5", () => {
  const fixture = LockFixture.use();

  const queueIn = async (db: number): Promise<number> => {
    await fixture.redis.select(db);
    return fixture.redis.zcard(`${fixture.redisKey('order')}:queue`);
  };

  test.each<[string, RedisOptions]>([
    ['as it is', {}],
    ['with RESP2', { protocol: 2 }],
    ['with replies as RESP3 has them', { protocol: 3, replyMapping: 'resp3' }],
    ['with another prefix and db', { keyPrefix: 'app:', db: 5 }],
  ])('%s → obtains, waits, is told and renews; the client is as it was', async (_, options) => {
    const own = new Redis6(fixture.server.url, options);
    try {
      expect(own).not.toBeInstanceOf(Redis);
      await waitFor(() => own.status === 'ready');
      const [before, url] = [{ ...own.options }, `${fixture.server.url}/${options.db ?? 0}`];
      const [client, other] = [fixture.client({ connection: own as never }), fixture.client({ connection: url })];
      for (const [holder, waiter] of [[client, other] as const, [other, client] as const]) {
        const lock = await holder.acquire('order', { ttl: '1m' });
        expect(await waiter.tryAcquire('order')).toBeNull();
        const acquiring = waiter.acquire('order', { wait: '20s' });
        await waitFor(async () => (await queueIn(options.db ?? 0)) === 1);
        await lock.extend();
        expect(await lock.release()).toBe('released');
        const next = await acquiring;
        expect(next.fencingToken).toBeGreaterThan(lock.fencingToken);
        expect(await next.release()).toBe('released');
      }
      await untilListening(fixture, 2);
      expect(fixture.warnings).toEqual([]);
      await client.close();
      expect(own.status).toBe('ready');
      expect(own.options).toEqual(before);
    } finally {
      own.disconnect();
    }
  });

  test('a Cluster → obtains, waits and is told; the client is as it was', async () => {
    await using cluster = await startCluster({ masters: 3, replicasPerMaster: 0 });
    const own = new Cluster6(cluster.seeds);
    try {
      await waitFor(() => own.status === 'ready');
      const connection = { cluster: cluster.seeds };
      const [client, other] = [fixture.client({ connection: own }), fixture.client({ connection })];
      const lock = await client.acquire('order', { ttl: '1m' });
      expect(await other.tryAcquire('order')).toBeNull();
      expect(await lock.release()).toBe('released');
      const theirs = await other.acquire('order', { ttl: '1m' });
      const acquiring = client.acquire('order', { wait: '20s' });
      await waitFor(async () => own.zcard(`${fixture.redisKey('order')}:queue`));
      expect(await theirs.release()).toBe('released');
      expect(await (await acquiring).release()).toBe('released');
      await client.close();
      expect(own.status).toBe('ready');
    } finally {
      own.disconnect();
    }
  });
});
