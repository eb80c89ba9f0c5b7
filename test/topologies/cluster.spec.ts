import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { Cluster, Redis } from 'ioredis';
import {
  createLockClient,
  LockUnavailableError,
  type LockClient,
  type LockClientOptions,
  type LockHandle,
} from 'nestjs-redis-lock';
import { storeContract } from 'nestjs-redis-lock/testing';
import { physicalKey } from '../../libs/redis-lock/src/stores/redis/physical-key.js';
import { RedisLockStore } from '../../libs/redis-lock/src/stores/redis/redis.store.js';
import { slotOf, tagOf } from '../../libs/redis-lock/src/stores/redis/slots.js';
import { startCluster } from '../../scripts/lib/topologies/index.mjs';
import { deferred, waitFor } from '../support/wait-for.js';
import { describeWithRedisServer, uniquePrefix } from '../support/redis.js';
import { documentedRights, makeUser, refusals } from './support/acl.js';
import { Crowd } from './support/crowd.js';

describeWithRedisServer('A Cluster', () => {
  let cluster: Awaited<ReturnType<typeof startCluster>>;
  let prefix: string;
  const clients: LockClient[] = [];
  const warnings: string[] = [];

  beforeAll(async () => {
    cluster = await startCluster();
  });
  beforeEach(() => {
    prefix = uniquePrefix();
    warnings.length = 0;
  });
  afterEach(async () => {
    await Promise.all(clients.splice(0).map(async (client) => client.close()));
  });
  afterAll(async () => cluster.stop());

  function newClient(options: Partial<LockClientOptions> = {}): LockClient {
    const client = createLockClient({
      connection: { cluster: cluster.seeds },
      prefix,
      shutdown: { drain: 0 },
      logger: { warn: (message) => warnings.push(message) },
      ...options,
    });
    clients.push(client);
    return client;
  }

  /** Every key of the test, on every master. */
  async function keys(): Promise<string[]> {
    const found = await Promise.all(
      cluster.nodes.map(async ({ url }) => {
        const redis = new Redis(url);
        const names = (await redis.role())[0] === 'master' ? await redis.keys(`${prefix}:*`) : [];
        redis.disconnect();
        return names;
      }),
    );
    return found.flat();
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

  const slotOfKey = (key: string): number => slotOf(physicalKey(prefix, key));

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
    const [one, other] = [newClient(), newClient()];
    for (const key of ['a', '{a}b', 'a{}b', '}{', '{}', 'a:b', 'x{y', '\\', '中文', '😀', ' ', '__proto__']) {
      const held = await one.acquire(key);
      const waiting = other.acquire(key, { wait: '20s' });
      await waitFor(async () => (await one.isLocked(key)) && (await keys()).some((name) => name.endsWith(':queue')));
      await held.release();
      const next = await waiting;
      expect(next.fencingToken).toBeGreaterThan(held.fencingToken);
      await next.release();
    }
    expect((await keys()).filter((name) => !name.startsWith(`${prefix}:fence:{`))).toEqual([]);
    expect(warnings).toEqual([]);
  });

  test('has one counter a slot, however many locks are in it', async () => {
    const client = newClient();
    for (let n = 0; n < 50; n++) await client.run(`{tag}${n}`, () => undefined);
    expect(await keys()).toEqual([`${prefix}:fence:{${tagOf(slotOfKey('{tag}0'))}}`]);
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
      const client = newClient({ connection: own });
      await client.run('order', async () => expect(await newClient().isLocked('order')).toBe(true));
      await client.close();
      expect(own.status).toBe('ready');
      expect({ ...own.options }).toEqual(options);
    } finally {
      own.disconnect();
    }
  });

  test('case 47: works for the user that the README describes, and asks for nothing more', async () => {
    const rights = [
      ...documentedRights(prefix),
      '+cluster|slots',
      '+cluster|info',
      '+asking',
      '+readonly',
      '+client|setname',
    ];
    await makeUser(cluster.nodes, prefix, rights);
    const redisOptions = { username: prefix, password: 'secret' };
    const [one, other] = [1, 2].map(() =>
      newClient({ connection: { cluster: cluster.seeds, options: { redisOptions } } }),
    );
    const held = await one?.acquire('order', { ttl: 300 });
    const waiting = other?.acquire('order', { wait: '20s' });
    await waitFor(async () => (await keys()).some((name) => name.endsWith(':queue')));
    await held?.release();
    expect(await (await waiting)?.release()).toBe('released');
    expect(await refusals(cluster.nodes)).toEqual([]);
  });

  test('a slot moves while processes contend → nobody is refused, nobody overlaps, tokens grow', async () => {
    const crowd = new Crowd([newClient(), newClient(), newClient()], ['order', 'stock'], 3);
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
    const [one, other] = [newClient({ ttl: 900 }), newClient()];
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

  test('a replica takes over from its master while processes contend → nobody overlaps, tokens grow', async () => {
    const crowd = new Crowd([newClient(), newClient(), newClient()], ['order', 'stock'], 3);
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
        [newClient({ connection, ttl: '2s' }), newClient({ connection, ttl: '2s' })],
        ['order'],
        3,
      );
      await crowd.more(20);
      await (await killed.masterOf(slotOfKey('order'))).kill();
      await crowd.more(20, 60_000);
      await crowd.stop();
      expect(crowd.outOfOrder).toBe(0);
    } finally {
      await Promise.all(clients.splice(0).map(async (client) => client.close()));
      await killed.stop();
    }
  }, 120_000);

  test('out of reach → refused as such, and never taken for held', async () => {
    const client = newClient({ connection: { cluster: [{ host: '127.0.0.1', port: 1 }] }, commandTimeout: 200 });
    const refused = await client.acquire('order', { wait: 0 }).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(LockUnavailableError);
    const closed = deferred();
    void client.close().then(closed.resolve);
    await closed.promise;
  });
});
