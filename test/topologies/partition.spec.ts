import { afterEach, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { createLockClient, LockUnavailableError, type LockClient } from 'nestjs-redis-lock';
import { startRedis, type RedisServer } from '../../scripts/lib/servers.mjs';
import { describeWithRedisServer } from '../support/redis.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { waitFor } from '../support/wait-for.js';

describeWithRedisServer('A master that was cut off and still takes writes', () => {
  const disposers: (() => unknown)[] = [];

  afterEach(async () => {
    for (const dispose of disposers.splice(0).toReversed()) await dispose();
  });

  async function start(args: string[] = []): Promise<{ server: RedisServer; redis: Redis }> {
    const server = await startRedis({ args });
    const redis = new Redis(server.url);
    disposers.push(
      async () => server.stop(),
      () => redis.disconnect(),
    );
    return { server, redis };
  }

  function newClient(connection: string): LockClient {
    const client = createLockClient({ connection, shutdown: { drain: 0 }, logger: { warn: () => {} } });
    disposers.push(async () => client.close());
    return client;
  }

  test('gives out a lock that the new master gives out too → tokens, replicas and min-replicas-to-write help', async () => {
    const master = await start(['--repl-diskless-sync-delay', '0']);
    const link = await TcpProxy.listen(master.server.port);
    disposers.push(() => link.close());
    const replica = await start(['--replicaof', '127.0.0.1', new URL(link.url).port]);
    await waitFor(async () => (await replica.redis.info('replication')).includes('master_link_status:up'));

    link.close();
    await replica.redis.call('REPLICAOF', 'NO', 'ONE');
    const [before, after] = [newClient(master.server.url), newClient(replica.server.url)];

    // Both have it: that is what a partition does to locks in one Redis, and what the documentation says.
    const old = await before.acquire('order');
    const current = await after.acquire('order');
    expect([old.held, current.held]).toEqual([true, true]);
    // The resource can tell them apart.
    expect(current.fencingToken).toBeGreaterThan(old.fencingToken);
    await old.release();

    // A lock that replicas must acknowledge is not to be had there,
    const replicas = { ack: 1, timeout: 50 };
    await expect(before.acquire('order', { replicas })).rejects.toMatchObject({
      code: 'LOCK_UNAVAILABLE',
      acknowledged: 0,
    });
    // and none at all where the server wants replicas for its writes.
    await master.redis.config('SET', 'min-replicas-to-write', '1');
    const refused: unknown = await before.acquire('order', { wait: 0 }).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(LockUnavailableError);
    expect(String(refused)).toContain('too few replicas are connected');
    expect(await current.release()).toBe('released');
  });
});
