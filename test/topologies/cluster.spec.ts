import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Cluster, Redis } from 'ioredis';
import { LockUnavailableError, type LockHandle } from 'nestjs-redis-lock';
import { storeContract } from 'nestjs-redis-lock/testing';
import { ClusterConnection } from '../../libs/redis-lock/src/stores/redis/cluster-connection.js';
import { physicalKey } from '../../libs/redis-lock/src/stores/redis/physical-key.js';
import { RedisLockStore } from '../../libs/redis-lock/src/stores/redis/redis.store.js';
import { renewScript } from '../../libs/redis-lock/src/stores/redis/scripts/renew.js';
import { slotOf, tagOf } from '../../libs/redis-lock/src/stores/redis/slots.js';
import { startRedis } from '../../scripts/lib/servers.mjs';
import { startCluster } from '../../scripts/lib/topologies/index.mjs';
import { deferred, waitFor } from '../support/wait-for.js';
import { Clients } from './support/clients.js';
import { describeWithRedisServer, uniquePrefix } from '../support/redis.js';
import { documentedRights, makeUser, refusals } from './support/acl.js';
import { Crowd } from './support/crowd.js';

describeWithRedisServer('A Cluster', () => {
  let cluster: Awaited<ReturnType<typeof startCluster>>;
  const clients = Clients.use(() => ({ cluster: cluster.seeds }));

  beforeAll(async () => {
    cluster = await startCluster();
  });
  afterAll(async () => cluster.stop());

  /** Every key of the test, on every master. */
  async function keys(): Promise<string[]> {
    const found = await Promise.all(
      cluster.nodes.map(async ({ url }) => {
        const redis = new Redis(url);
        const names = (await redis.role())[0] === 'master' ? await redis.keys(`${clients.prefix}:*`) : [];
        redis.disconnect();
        return names;
      }),
    );
    return found.flat();
  }

  async function forget(url: string, id: string): Promise<void> {
    const redis = new Redis(url);
    await redis.cluster('FORGET', id).catch(() => undefined);
    redis.disconnect();
  }

  /** Waits until the lease of a lock has been set anew. */
  async function renewed(lock: LockHandle): Promise<void> {
    let last = lock.remaining;
    await waitFor(() => {
      const before = last;
      last = lock.remaining;
      return last > before;
    });
  }

  const slotOfKey = (key: string): number => slotOf(physicalKey(clients.prefix, key));

  test.each(
    storeContract(async () => {
      const logger = { warn: () => {} };
      const connection = { cluster: cluster.seeds };
      const store = new RedisLockStore({ connection, prefix: uniquePrefix(), commandTimeoutMs: 10_000, logger });
      return { store, close: async () => store.close() };
    }),
  )('keeps the contract: $name', async ({ run }) => {
    await expect(run()).resolves.toBeUndefined();
  });

  test('case 42: whatever the key is, it is locked, waited for and freed; only counters are left', async () => {
    const [one, other] = [clients.make(), clients.make()];
    for (const key of ['a', '{a}b', 'a{}b', '}{', '{}', 'a:b', 'x{y', '\\', '中文', '😀', ' ', '__proto__']) {
      const held = await one.acquire(key);
      const waiting = other.acquire(key, { wait: '20s' });
      await waitFor(async () => (await one.isLocked(key)) && (await keys()).some((name) => name.endsWith(':queue')));
      await held.release();
      const next = await waiting;
      expect(next.fencingToken).toBeGreaterThan(held.fencingToken);
      await next.release();
    }
    expect((await keys()).filter((name) => !name.startsWith(`${clients.prefix}:fence:{`))).toEqual([]);
    expect(clients.warnings).toEqual([]);
  });

  test('has one counter a slot, however many locks are in it', async () => {
    const client = clients.make();
    for (let n = 0; n < 50; n++) await client.run(`{tag}${n}`, () => undefined);
    expect(await keys()).toEqual([`${clients.prefix}:fence:{${tagOf(slotOfKey('{tag}0'))}}`]);
  });

  test('is reached through a client of the user, which stays as it is', async () => {
    const own = new Cluster(cluster.seeds, {
      keyPrefix: 'app:',
      scaleReads: 'all',
      redisOptions: { connectionName: 'app' },
    });
    try {
      await waitFor(() => own.status === 'ready');
      const options = { ...own.options };
      const client = clients.make({ connection: own });
      await client.run('order', async () => expect(await clients.make().isLocked('order')).toBe(true));
      await client.close();
      expect(own.status).toBe('ready');
      expect({ ...own.options }).toEqual(options);
    } finally {
      own.disconnect();
    }
  });

  test('case 47: works for the user that the README describes, and asks for nothing more', async () => {
    const rights = [
      ...documentedRights(clients.prefix),
      '+cluster|slots',
      '+cluster|info',
      '+asking',
      '+readonly',
      '+client|setname',
    ];
    await makeUser(cluster.nodes, clients.prefix, rights);
    const redisOptions = { username: clients.prefix, password: 'secret' };
    const [one, other] = [1, 2].map(() =>
      clients.make({ connection: { cluster: cluster.seeds, options: { redisOptions } } }),
    );
    const held = await one?.acquire('order', { ttl: 300 });
    const waiting = other?.acquire('order', { wait: '20s' });
    await waitFor(async () => (await keys()).some((name) => name.endsWith(':queue')));
    await held?.release();
    expect(await (await waiting)?.release()).toBe('released');
    expect(await refusals(cluster.nodes)).toEqual([]);
  });

  test('a slot moves while processes contend → nobody is refused, nobody overlaps, tokens grow', async () => {
    const crowd = new Crowd([clients.make(), clients.make(), clients.make()], ['order', 'stock'], 3);
    await crowd.more(20);
    const slot = slotOfKey('order');
    const from = await cluster.masterOf(slot);
    const to = (await Promise.all([0, 8_000, 16_000].map(async (other) => cluster.masterOf(other)))).find(
      (node) => node !== from,
    );
    if (!to) throw new Error('There is no other master');
    await cluster.moveSlot(slot, to);
    await crowd.more(20);
    await crowd.stop();
    expect(await cluster.masterOf(slot)).toBe(to);
    expect(crowd.errors).toEqual([]);
    expect([crowd.overlaps, crowd.outOfOrder]).toEqual([0, 0]);
    expect((await keys()).filter((name) => !name.includes(':fence:'))).toEqual([]);
  });

  test('in the middle of a move a held lock is renewed, and whoever waits gets it', async () => {
    const slot = slotOfKey('report');
    const from = await cluster.masterOf(slot);
    const to = (await Promise.all([0, 8_000, 16_000].map(async (other) => cluster.masterOf(other)))).find(
      (node) => node !== from,
    );
    if (!to) throw new Error('There is no other master');
    const [one, other] = [clients.make({ ttl: 900 }), clients.make()];
    const held = await one.acquire('report');
    await cluster.beginMove(slot, to);
    const waiting = other.acquire('report', { wait: '20s' });
    await renewed(held);
    await renewed(held);
    await cluster.finishMove(slot, to);
    await held.release();
    const next = await waiting;
    expect(next.fencingToken).toBeGreaterThan(held.fencingToken);
    await next.release();
  });

  test('a lock is released in the middle of a move, when what is deleted is missing → who waits is served, nobody is refused', async () => {
    const [one, other] = [clients.make(), clients.make()];
    const slot = slotOfKey('order');
    const from = await cluster.masterOf(slot);
    const others = await Promise.all([0, 8_000, 16_000].map(async (any) => cluster.masterOf(any)));
    const to = others.find((node) => node !== from);
    if (!to) throw new Error('There is no other master');
    // Not to be handed over without Redis.
    const held = await one.acquire('order', { renew: false });
    const waiting = [one, other].map(async (client) => client.acquire('order', { wait: '30s' }));
    await waitFor(async () => (await keys()).some((name) => name.endsWith(':queue')));
    await cluster.beginMove(slot, to);
    expect(['released', 'unknown']).toContain(await held.release());
    await cluster.finishMove(slot, to);
    const tokens = await Promise.all(
      waiting.map(async (waiter) => {
        const next = await waiter;
        expect(['released', 'unknown']).toContain(await next.release());
        return next.fencingToken;
      }),
    );
    expect(Math.min(...tokens)).toBeGreaterThan(held.fencingToken);
    expect(new Set(tokens).size).toBe(2);
  });

  test('a node gets its first slot → who asks for what is moved there is served, also after the table was read anew', async () => {
    const slot = slotOfKey('first');
    const source = await cluster.masterOf(slot);
    const target = await startRedis({ args: ['--cluster-enabled', 'yes'] });
    const [from, to] = [new Redis(source.url), new Redis(target.url)];
    const servers = new ClusterConnection({
      source: { cluster: cluster.seeds },
      commandTimeoutMs: 10_000,
      logger: { warn: () => {} },
      scripts: [],
    });
    try {
      const [fromId, toId] = [String(await from.cluster('MYID')), String(await to.cluster('MYID'))];
      await to.cluster('MEET', '127.0.0.1', String(source.port));
      await waitFor(async () => String(await to.cluster('INFO')).includes('cluster_state:ok'));
      await waitFor(async () => String(await from.cluster('NODES')).includes(toId));
      await to.cluster('SETSLOT', slot, 'IMPORTING', fromId);
      await from.cluster('SETSLOT', slot, 'MIGRATING', toId);
      const topology = Reflect.get(servers, 'cluster') as Cluster;
      const lock = physicalKey(clients.prefix, 'first');
      for (let round = 0; round < 3; round++) {
        // The answers say ASK; the table does not name the node that they send to.
        const asked = Array.from({ length: 5 }, async () =>
          servers.run(renewScript, 'first', [lock], ['nobody#1/1', 1_000]),
        );
        const read = new Promise<void>((resolve) => topology.once('refresh', () => resolve()));
        topology.refreshSlotsCache(() => undefined);
        await read;
        expect(await Promise.all(asked)).toEqual(Array.from({ length: 5 }, () => ({ status: 'gone' })));
      }
      expect(Number(/cmdstat_asking:calls=(\d+)/.exec(await to.info('commandstats'))?.[1])).toBeGreaterThanOrEqual(15);
      expect(Number(/total_connections_received:(\d+)/.exec(await to.info('stats'))?.[1])).toBeLessThanOrEqual(4);
    } finally {
      await servers.close();
      await from.cluster('SETSLOT', slot, 'STABLE');
      const toId = String(await to.cluster('MYID'));
      await Promise.all(cluster.nodes.map(async (node) => forget(node.url, toId)));
      from.disconnect();
      to.disconnect();
      await target.stop();
    }
  });

  test('a replica takes over from its master while processes contend → nobody overlaps, tokens grow', async () => {
    const crowd = new Crowd([clients.make(), clients.make(), clients.make()], ['order', 'stock'], 3);
    await crowd.more(20);
    const slot = slotOfKey('order');
    const replica = await cluster.replicaOf(await cluster.masterOf(slot));
    await cluster.failover(replica);
    await crowd.more(20);
    await crowd.stop();
    expect(await cluster.masterOf(slot)).toBe(replica);
    expect(crowd.errors.filter(({ code }) => code !== 'LOCK_UNAVAILABLE')).toEqual([]);
    expect([crowd.overlaps, crowd.outOfOrder]).toEqual([0, 0]);
  });

  test('a master is killed while processes contend → all go on, and tokens grow', async () => {
    const killed = await startCluster();
    try {
      const connection = { cluster: killed.seeds };
      const crowd = new Crowd(
        [clients.make({ connection, ttl: '2s' }), clients.make({ connection, ttl: '2s' })],
        ['order'],
        3,
      );
      await crowd.more(20);
      await (await killed.masterOf(slotOfKey('order'))).kill();
      await crowd.more(20, 60_000);
      await crowd.stop();
      expect(crowd.outOfOrder).toBe(0);
    } finally {
      await clients.close();
      await killed.stop();
    }
  }, 120_000);

  test('out of reach → refused as such, and never taken for held', async () => {
    const client = clients.make({ connection: { cluster: [{ host: '127.0.0.1', port: 1 }] }, commandTimeout: 200 });
    const refused = await client.acquire('order', { wait: 0 }).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(LockUnavailableError);
    const closed = deferred();
    void client.close().then(closed.resolve);
    await closed.promise;
  });
});
