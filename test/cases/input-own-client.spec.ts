import { expect, test } from '@jest/globals';
import { Redis, type RedisOptions } from 'ioredis';
import { LockUnavailableError } from 'nestjs-redis-lock';
import { freePort } from '../../scripts/lib/servers.mjs';
import { describeWithRedisServer } from '../support/redis.js';
import { waitFor } from '../support/wait-for.js';
import { LockFixture, rejection, timed } from './support/lock-fixture.js';

const settings: [name: string, options: RedisOptions][] = [
  ['keyPrefix', { keyPrefix: 'app:' }],
  ['db 5', { db: 5 }],
  ['stringNumbers', { stringNumbers: true }],
  ['enableAutoPipelining', { enableAutoPipelining: true }],
  ['no offline queue', { enableOfflineQueue: false }],
  ['lazyConnect', { lazyConnect: true }],
  ['maxRetriesPerRequest null', { maxRetriesPerRequest: null }],
  ['no reconnection', { retryStrategy: null }],
  ['readOnly', { readOnly: true }],
  ['a connection name', { connectionName: 'app' }],
  ['no ready check', { enableReadyCheck: false }],
  [
    'all of them',
    {
      keyPrefix: 'app:',
      db: 5,
      stringNumbers: true,
      enableAutoPipelining: true,
      lazyConnect: true,
      maxRetriesPerRequest: null,
    },
  ],
];

/** A client may have something to say by itself once it is ready (`readOnly`). */
function isAtRest(redis: Redis): boolean {
  return redis.commandQueue.length === 0;
}

/** Everything of a client that its user could notice a change of. */
function snapshot(redis: Redis): object {
  const size = (name: string): unknown => Reflect.get(Reflect.get(redis, name) as object, 'length');
  return {
    options: { ...redis.options },
    status: redis.status,
    listeners: redis.eventNames().map((name) => [name, redis.listenerCount(name)]),
    queues: [size('commandQueue'), size('offlineQueue')],
    properties: Object.keys(redis),
  };
}

describeWithRedisServer("Input: the user's own client", () => {
  const fixture = LockFixture.use();

  test.each(settings)(
    'case 54: it has %s → the locks are right, in its db, and the client is as it was',
    async (_, options) => {
      const own = fixture.userClient(options);
      await waitFor(() => own.status === (options.lazyConnect ? 'wait' : 'ready') && isAtRest(own));
      const db = newDb(options.db ?? 0);
      const before = snapshot(own);
      const log = await fixture.commandLog();

      const client = fixture.client({ connection: own });
      const plain = fixture.client({ connection: `${fixture.server.url}/${options.db ?? 0}` });
      const lock = await client.acquire('order', { ttl: 1_000 });

      expect(lock.fencingToken).toEqual(expect.any(Number));
      expect(lock.remaining).toBeLessThanOrEqual(1_000);
      expect(await db.hkeys(fixture.redisKey('order'))).toEqual([
        expect.stringMatching(new RegExp(`/${lock.fencingToken}$`)),
      ]);
      // Nothing anywhere else: no other db, no other prefix.
      expect(String(await fixture.redis.info('keyspace')).match(/^db\d+/gm)).toEqual([`db${options.db ?? 0}`]);
      expect((await db.keys('*')).sort()).toEqual([`${fixture.prefix}:fence`, fixture.redisKey('order')]);
      // It excludes a client that was made of a URL, in both directions.
      expect(await plain.tryAcquire('order')).toBeNull();
      const busy = await rejection(fixture.client({ connection: own }).acquire('order', { wait: 0 }));
      expect(busy).toMatchObject({ code: 'LOCK_BUSY', holder: { remainingMs: expect.any(Number) } });
      let last = await db.pttl(fixture.redisKey('order'));
      await waitFor(async () => last < (last = await db.pttl(fixture.redisKey('order'))), { what: 'it is renewed' });
      expect(await lock.release()).toBe('released');
      const theirs = await plain.acquire('order');
      expect(await client.tryAcquire('order')).toBeNull();
      expect(await client.isLocked('order')).toBe(true);
      expect(await theirs.release()).toBe('released');
      expect(await db.keys('*')).toEqual([`${fixture.prefix}:fence`]);
      await client.close();

      expect(snapshot(own)).toEqual(before);
      expect(options.lazyConnect ? [] : await log.sentBy(own)).toEqual([]);
    },
  );

  test('case 54: the lock client is closed → the own client still works, with its own options', async () => {
    const own = fixture.userClient({ keyPrefix: 'app:', db: 5, stringNumbers: true });
    await own.set('counter', 41);
    const client = fixture.client({ connection: own });
    await client.run('order', async (lock) => own.set('fence', lock.fencingToken));
    await client.close();
    expect(own.status).toBe('ready');
    expect(await own.incr('counter')).toBe('42');
    expect(await newDb(5).get('app:counter')).toBe('42');
  });

  test('case 54: the own client is closed while the lock client works → the locks go on', async () => {
    const own = fixture.userClient();
    const client = fixture.client({ connection: own });
    const lock = await client.acquire('order', { ttl: 900 });
    own.disconnect();
    await fixture.untilRenewed('order', 2);
    expect(lock.held).toBe(true);
    expect(await lock.release()).toBe('released');
    await fixture.expectNothingLeft();
  });

  test('case 54: it retries for ever, and the connection breaks with a command on its way → told at once, and not sent again', async () => {
    const proxy = await fixture.proxy();
    const own = fixture.userClient({ maxRetriesPerRequest: null, enableOfflineQueue: true }, proxy.url);
    const client = fixture.client({ connection: own, commandTimeout: '30s' });
    await fixture.connected(client);
    await waitFor(() => own.status === 'ready' && isAtRest(own));
    const log = await fixture.commandLog();
    proxy.dropReplies(1);
    const { result: error, ms } = await timed(async () => rejection(client.acquire('order', { wait: 0 })));
    expect(error).toBeInstanceOf(LockUnavailableError);
    expect(ms).toBeLessThan(10_000);
    await fixture.expectNothingLeft();
    expect(await log.count('acquire')).toBe(1);
  });

  test('case 54: an offline queue, and Redis is not there → unreachable, and nothing is queued behind our back', async () => {
    const port = await freePort();
    const own = new Redis({
      port,
      host: '127.0.0.1',
      lazyConnect: true,
      enableOfflineQueue: true,
      maxRetriesPerRequest: null,
    });
    const client = fixture.client({ connection: own, commandTimeout: 300 });
    expect(await rejection(client.acquire('order', { wait: 0 }))).toBeInstanceOf(LockUnavailableError);
    expect(own.status).toBe('wait');
    expect(snapshot(own)).toMatchObject({ queues: [0, 0] });
  });

  test('case 54: options instead of a client, with what would break a lock → the locks are right, and the object is as it was', async () => {
    const options: RedisOptions = {
      port: fixture.server.port,
      keyPrefix: 'app:',
      db: 5,
      stringNumbers: true,
      lazyConnect: true,
    };
    const copy = { ...options };
    const client = fixture.client({ connection: options });
    const lock = await client.acquire('order', { ttl: '1m' });
    expect(options).toEqual(copy);
    expect((await newDb(5).keys('*')).sort()).toEqual([`${fixture.prefix}:fence`, fixture.redisKey('order')]);
    expect(lock.fencingToken).toEqual(expect.any(Number));
    await lock.release();
  });

  function newDb(db: number): Redis {
    return fixture.userClient({ db });
  }
});
