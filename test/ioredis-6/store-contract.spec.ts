import { afterAll, afterEach, beforeAll, expect, jest, test } from '@jest/globals';
import type { Redis } from 'ioredis';
import type { LockClient, LockClientOptions } from 'nestjs-redis-lock';
import { createRequire } from 'node:module';
import { describeWithRedis, newRedis, sharedRedisUrl, uniquePrefix } from '../support/redis.js';

// From here on everything that is imported has ioredis 6; so nothing above may import the library.
jest.unstable_mockModule('ioredis', async () => import('ioredis6'));
const ioredis6 = await import('ioredis');
const { createLockClient } = await import('nestjs-redis-lock');
const { storeContract } = await import('nestjs-redis-lock/testing');
const { RedisLockStore } = await import('../../libs/redis-lock/src/stores/redis/redis.store.js');

describeWithRedis('The contract on the Redis store with ioredis 6', () => {
  const checks = storeContract(async () => {
    const store = new RedisLockStore({
      connection: sharedRedisUrl(),
      prefix: uniquePrefix(),
      commandTimeoutMs: 10_000,
      logger: { warn: () => {} },
    });
    return { store, close: async () => store.close() };
  });

  test('it is ioredis 6', async () => {
    expect(createRequire(import.meta.url)('ioredis6/package.json').version).toMatch(/^6\./);
    const connection = sharedRedisUrl();
    const store = new RedisLockStore({
      connection,
      prefix: 'none',
      commandTimeoutMs: 1_000,
      logger: { warn: () => {} },
    });
    const made: unknown = Reflect.get(Reflect.get(store, 'servers') as object, 'redis');
    await store.close();
    expect(made).toBeInstanceOf(ioredis6.Redis);
  });

  test.each(checks)('$name', async (check) => {
    await expect(check.run()).resolves.toBeUndefined();
  });
});

describeWithRedis('A library with ioredis 6', () => {
  let five: Redis;
  let six: Redis;
  const clients: LockClient[] = [];

  beforeAll(() => {
    five = newRedis();
    six = new ioredis6.Redis(sharedRedisUrl());
  });

  afterEach(async () => {
    await Promise.all(clients.splice(0).map(async (client) => client.close()));
  });

  afterAll(() => {
    for (const each of [five, six]) each.disconnect();
  });

  function open(options: Partial<LockClientOptions>): LockClient {
    const client = createLockClient({ connection: sharedRedisUrl(), shutdown: { drain: 0 }, ...options });
    clients.push(client);
    return client;
  }

  test.each(['five', 'six'])(
    "takes the user's client of ioredis %s, tells it of grants, and leaves it as it is",
    async (which) => {
      const own = which === 'five' ? five : six;
      const prefix = uniquePrefix();
      const [one, other] = [open({ prefix, connection: own }), open({ prefix })];
      for (const [holder, waiter] of [[one, other] as const, [other, one] as const]) {
        const lock = await holder.acquire('order', { ttl: '1m' });
        expect(await waiter.tryAcquire('order')).toBeNull();
        const acquiring = waiter.acquire('order', { wait: '20s' });
        expect(await lock.release()).toBe('released');
        const next = await acquiring;
        expect(next.fencingToken).toBeGreaterThan(lock.fencingToken);
        expect(await next.release()).toBe('released');
      }
      await one.close();
      expect(own.status).toBe('ready');
      expect(await own.del(`${prefix}:fence`)).toBe(1);
    },
  );
});
