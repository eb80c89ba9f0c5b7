import { afterAll, afterEach, beforeAll, expect, jest, test } from '@jest/globals';
import type { Redis } from 'ioredis';
import { LockUnavailableError, type LockClient } from 'nestjs-redis-lock';
import { startRedis, type RedisServer } from '../../scripts/lib/servers.mjs';
import { startClusterNode } from '../../scripts/lib/topologies/cluster-node.mjs';
import { LockFixture, rejection, timed } from '../cases/support/lock-fixture.js';
import { describeWithRedisServer, newRedis } from '../support/redis.js';
import { waitFor } from '../support/wait-for.js';
import { RewritingProxy } from './support/rewriting-proxy.js';

interface Expected {
  readonly says: RegExp;
  readonly retryable: boolean;
  readonly mayHaveRun: boolean;
}

function unavailable({ says, ...fields }: Expected): object {
  return {
    name: LockUnavailableError.name,
    code: 'LOCK_UNAVAILABLE',
    statusCode: 503,
    key: 'order',
    ...fields,
    message: expect.stringMatching(says),
  };
}

/** What passes by itself. */
function passing(says: RegExp): object {
  return unavailable({ says, retryable: true, mayHaveRun: false });
}

describeWithRedisServer('A Redis that cannot serve', () => {
  const fixture = LockFixture.use();
  const disposers: (() => unknown)[] = [];

  afterEach(async () => {
    for (const dispose of disposers.splice(0).reverse()) await dispose();
  });

  /** A server of this test, and a client of it. */
  function use(server: RedisServer): Redis {
    const redis = newRedis(server.url);
    disposers.push(async () => server.stop());
    disposers.push(() => redis.disconnect());
    return redis;
  }

  test('a replica → connect to the master', async () => {
    const replica = await startRedis({ args: ['--replicaof', '127.0.0.1', String(fixture.server.port)] });
    const redis = use(replica);
    await waitFor(async () => /master_link_status:up/.test(await redis.info('replication')));
    const client = fixture.client({ connection: replica.url });
    await fixture.connected(client);
    expect(await rejection(client.acquire('order', { wait: 0 }))).toMatchObject(
      passing(/is a replica; connect to the master/),
    );
    // It passes when the replica becomes the master; who waits long enough is served.
    const acquiring = client.acquire('order', { wait: '30s' });
    await redis.replicaof('NO', 'ONE');
    expect(await (await acquiring).release()).toBe('released');
  });

  test('it loads its data behind a connection that is there → says so, and who waits is served after it', async () => {
    const server = await startRedis({ args: ['--enable-debug-command', 'yes', ...SLOW_LOADING] });
    const redis = use(server);
    const client = fixture.client({ connection: server.url });
    await fixture.connected(client);
    await redis.call('DEBUG', 'POPULATE', '1000', 'data', '200');
    const loaded = redis.call('DEBUG', 'RELOAD');
    expect(await rejection(client.acquire('order', { wait: 0 }))).toMatchObject(passing(/still loading its data/));
    expect(await (await client.acquire('order', { wait: '30s' })).release()).toBe('released');
    await loaded;
  });

  test('it loads its data after a restart → says that it may, and who waits is served after it', async () => {
    const server = await startRedis({ args: ['--enable-debug-command', 'yes', ...SLOW_LOADING] });
    const redis = use(server);
    redis.on('error', () => {});
    await redis.call('DEBUG', 'POPULATE', '1000', 'data', '200');
    await redis.save();
    await server.kill();
    const restarted = server.restart();
    await waitFor(() => server.output.includes('Loading RDB'));
    const client = fixture.client({ connection: server.url });
    const refused = client.isLocked('order');
    expect(await rejection(refused)).toMatchObject(passing(/takes connections, but may still be loading its data/));
    const acquiring = client.acquire('order', { wait: '30s' });
    await restarted;
    expect(await (await acquiring).release()).toBe('released');
  });

  test('a user without a right → says that one is missing, at once, and is not asked again', async () => {
    const username = `limited-${fixture.prefix}`;
    await fixture.redis.acl('SETUSER', username, 'on', '>secret', '~*', '&*', '+@all', '-evalsha', '-eval');
    const client = fixture.client({
      connection: { host: '127.0.0.1', port: fixture.server.port, username, password: 'secret' },
    });
    const says = /lacks a permission; see the ACL in the README \(NOPERM/;
    const expected = unavailable({ says, retryable: false, mayHaveRun: true });
    const { ms, result } = await timed(async () => rejection(client.acquire('order', { wait: '30s' })));
    expect(result).toMatchObject(expected);
    expect(ms).toBeLessThan(5_000);
  });

  test('a user who may not ask for INFO → is served', async () => {
    // By ioredis, to everybody.
    const said = jest.spyOn(console, 'warn').mockReturnValue();
    disposers.push(() => said.mockRestore());
    const username = `limited-${fixture.prefix}`;
    await fixture.redis.acl('SETUSER', username, 'on', '>secret', '~*', '&*', '+@all', '-info');
    const client = fixture.client({
      connection: {
        host: '127.0.0.1',
        port: fixture.server.port,
        username,
        password: 'secret',
      },
    });
    expect(await (await client.acquire('order', { wait: '30s' })).release()).toBe('released');
    expect(said).toHaveBeenCalledWith(expect.stringMatching(/^Skipping the ready check/));
  });

  test('it is too old → says so at once, and works when it is not any more', async () => {
    const [, version = ''] = /redis_version:(\S+)/.exec(await fixture.redis.info('server')) ?? [];
    const old = '6.0.16'.padEnd(version.length, '0').slice(0, version.length);
    let shown = old;
    const proxy = await RewritingProxy.listen(
      fixture.server.port,
      `redis_version:${version}`,
      () => `redis_version:${shown}`,
    );
    disposers.push(() => proxy.close());
    const client = fixture.client({ connection: proxy.url });
    const says = new RegExp(`: Redis ${old.replaceAll('.', '\\.')} is too old: 6\\.2 or later is needed\\.$`);
    const expected = unavailable({ says, retryable: false, mayHaveRun: false });
    const log = await fixture.commandLog();
    const { ms } = await timed(async () => {
      expect(await rejection(client.acquire('order', { wait: '30s' }))).toMatchObject(expected);
      expect(await rejection(client.isLocked('order'))).toMatchObject(expected);
    });
    expect(ms).toBeLessThan(5_000);
    expect(await log.scripts()).toEqual([]);
    expect(await fixture.redisKeys()).toEqual([]);
    // Somebody has updated it.
    shown = version;
    await fixture.redis.client('KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    const lock = await waitFor(async () => client.acquire('order').catch(() => undefined));
    expect(await lock.release()).toBe('released');
  });
});

/** Each key takes a ms or so, and clients are answered meanwhile. */
const SLOW_LOADING = '--key-load-delay 2000 --loading-process-events-interval-bytes 1024'.split(' ');

describeWithRedisServer('A node of a Cluster that is taken for a single Redis', () => {
  const fixture = LockFixture.use();
  let node: RedisServer;
  let other: RedisServer;
  let redis: Redis;
  let ofOther: Redis;
  let client: LockClient;

  beforeAll(async () => {
    [node, other] = await Promise.all([startClusterNode({}), startClusterNode({})]);
    [redis, ofOther] = [newRedis(node.url), newRedis(other.url)];
  });

  afterAll(async () => {
    for (const each of [redis, ofOther]) each.disconnect();
    await Promise.all([node.stop(), other.stop()]);
  });

  const connect = async (): Promise<void> => {
    client = fixture.client({ connection: node.url });
    await waitFor(async () =>
      client.isLocked('order').then(
        () => true,
        (error: Error) => !/out of reach/.test(error.message),
      ),
    );
  };

  const askForCluster = unavailable({
    says: /is a node of a Cluster; connect to it as a Cluster \(see docs\/topologies\.md\)/,
    retryable: false,
    mayHaveRun: false,
  });

  test('without slots → the Cluster does not serve this one, which may pass', async () => {
    await connect();
    const expected = passing(/does not serve the slot.*redis-cli --cluster check.*CLUSTERDOWN/);
    expect(await rejection(client.isLocked('order'))).toMatchObject(expected);
    expect(await rejection(client.acquire('order', { wait: 0 }))).toMatchObject(expected);
  });

  test('whose slots another node has (MOVED), or is getting (ASK) → connect to it as a Cluster', async () => {
    await connect();
    await ofOther.call('CLUSTER', 'ADDSLOTSRANGE', '0', '16383');
    await redis.call('CLUSTER', 'MEET', '127.0.0.1', String(other.port));
    const answer = async (): Promise<string> => client.isLocked('order').then(String, String);
    await waitFor(async () => /MOVED/.test(await answer()), { timeoutMs: 30_000 });
    expect(await rejection(client.isLocked('order'))).toMatchObject(askForCluster);
    // The counter of the tokens has a slot of its own.
    expect(await rejection(client.acquire('order', { wait: '30s' }))).toMatchObject(askForCluster);

    const slot = String(await redis.cluster('KEYSLOT', `${fixture.prefix}:{order}`));
    const [id, idOfOther] = [await redis.cluster('MYID'), await ofOther.cluster('MYID')];
    for (const each of [redis, ofOther]) await each.call('CLUSTER', 'SETSLOT', slot, 'NODE', String(id));
    await redis.call('CLUSTER', 'SETSLOT', slot, 'MIGRATING', String(idOfOther));
    await waitFor(async () => /ASK/.test(await answer()), { timeoutMs: 30_000 });
    expect(await rejection(client.isLocked('order'))).toMatchObject(askForCluster);
  });

  test('whose slot is moving key by key (TRYAGAIN) → says that this passes', async () => {
    await connect();
    const name = `${fixture.prefix}:{order}`;
    const slot = String(await redis.cluster('KEYSLOT', name));
    const [id, idOfOther] = [await redis.cluster('MYID'), await ofOther.cluster('MYID')];
    for (const each of [redis, ofOther]) await each.call('CLUSTER', 'SETSLOT', slot, 'NODE', String(id));
    await waitFor(async () =>
      redis.hset(name, 'gone-1-a#1/1000000000000000', '1').then(
        () => true,
        () => false,
      ),
    );
    await redis.call('CLUSTER', 'SETSLOT', slot, 'MIGRATING', String(idOfOther));
    expect(await rejection(client.isLocked('order'))).toMatchObject(
      passing(/is moving to another node of the Cluster.*TRYAGAIN/),
    );
  });
});
