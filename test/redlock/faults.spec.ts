import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { LockUnavailableError } from 'nestjs-redis-lock';
import { rejection, timed } from '../cases/support/lock-fixture.js';
import { describeWithRedisServer } from '../support/redis.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { waitFor } from '../support/wait-for.js';
import { RedlockServers } from './support/servers.js';

describeWithRedisServer('Redlock with nodes that fail', () => {
  const servers = RedlockServers.use();

  test('44: one of five hangs: obtained and released without waiting for it, and it is free when it wakes', async () => {
    const client = await servers.client();
    servers.servers[4]?.pause();
    for (let round = 0; round < 10; round++) {
      const { result: lock, ms } = await timed(async () => client.acquire(`k${round}`, { wait: 0 }));
      expect(ms).toBeLessThan(500);
      expect(lock.nodes).toBeLessThan(5);
      expect(await lock.release()).toBe('released');
    }
    servers.servers[4]?.resume();
    await servers.expectNothingLeft();
  });

  test('44: two of five are dead: obtained', async () => {
    const client = await servers.client();
    await Promise.all(servers.servers.slice(3).map(async (server) => server.kill()));
    try {
      const lock = await client.acquire('k');
      expect(lock.nodes).toBe(3);
      expect(await lock.release()).toBe('released');
    } finally {
      await Promise.all(servers.servers.slice(3).map(async (server) => server.start()));
    }
  });

  test('three of five hang: unavailable, which says how many answered, and everything is undone', async () => {
    const client = await servers.client();
    for (const server of servers.servers.slice(2)) server.pause();
    const error = await rejection(client.acquire('k', { wait: 0 }));
    expect(error).toBeInstanceOf(LockUnavailableError);
    expect((error as Error).message).toContain('only 2 of 5 nodes answered, 3 are needed');
    for (const server of servers.servers) server.resume();
    await servers.expectNothingLeft();
  });

  test('45: slow nodes: never obtained without validity, and freed everywhere', async () => {
    const proxies = await Promise.all(servers.servers.map(async ({ port }) => TcpProxy.listen(port)));
    try {
      const store = await servers.store({ nodes: proxies.map(({ url }) => url), nodeTimeoutMs: 1_000 });
      for (const proxy of proxies) proxy.delay('answers', () => 60);
      const attempt = store.acquire({ key: 'k', member: 'm#1', leaseMs: 50, withinMs: 1_000 });
      const error = await rejection(attempt);
      expect(error).toBeInstanceOf(LockUnavailableError);
      expect(error).toMatchObject({ retryable: true });
      const long = { key: 'k', member: 'm#2', leaseMs: 60_000, withinMs: 1_000 };
      const reply = await store.acquire(long);
      expect(reply).toMatchObject({ status: 'acquired' });
      await store.release({ key: 'k', member: 'm#2', minHoldMs: 0 });
      await servers.expectNothingLeft();
    } finally {
      await Promise.all(proxies.map(async (proxy) => proxy.close()));
    }
  });

  test('45: nodes whose commands arrive after the node timeout are freed by what goes behind them', async () => {
    const proxies = await Promise.all(servers.servers.map(async ({ port }) => TcpProxy.listen(port)));
    try {
      const store = await servers.store({ nodes: proxies.map(({ url }) => url) });
      for (const proxy of proxies.slice(0, 3)) proxy.hold('commands');
      const attempt = store.acquire({ key: 'k', member: 'm#1', leaseMs: 60_000, withinMs: 60_000 });
      expect(await rejection(attempt)).toBeInstanceOf(LockUnavailableError);
      await servers.expectNothingLeft();
      for (const proxy of proxies.slice(0, 3)) proxy.release('commands');
      await pause(50);
      await expect(servers.expectNothingLeft()).resolves.toBeUndefined();
    } finally {
      await Promise.all(proxies.map(async (proxy) => proxy.close()));
    }
  });

  test('45: a node that did not know the script grants it behind the release, and is freed when it says so', async () => {
    const store = await servers.store();
    await servers.redis[4]?.script('FLUSH');
    const acquired = store.acquire({ key: 'k', member: 'm#1', leaseMs: 60_000, withinMs: 1_000 });
    const released = acquired.then(async () => store.release({ key: 'k', member: 'm#1', minHoldMs: 0 }));
    expect(await released).toEqual({ status: 'released' });
    await servers.expectNothingLeft();
  });

  test('a node that grants late has the lock as the others', async () => {
    const client = await servers.client({ nodeTimeout: 20 });
    servers.servers[0]?.pause();
    const lock = await client.acquire('k');
    await waitFor(() => lock.nodes === 4);
    await pause(100);
    servers.servers[0]?.resume();
    await waitFor(() => lock.nodes === 5);
    const [first, ...others] = await servers.holds('k');
    expect(first).toHaveLength(1);
    for (const hold of others) expect(hold).toEqual(first);
    await lock.release();
    await servers.expectNothingLeft();
  });

  test('a command that the servers get too late for their clocks is sent once more', async () => {
    const store = await servers.store();
    for (const { clock } of store['parts'].nodes.all) clock.learn(0, performance.now());
    const reply = await store.acquire({ key: 'k', member: 'm#1', leaseMs: 5_000, withinMs: 1_000 });
    expect(reply).toMatchObject({ status: 'acquired' });
    await store.release({ key: 'k', member: 'm#1', minHoldMs: 0 });
    await servers.expectNothingLeft();
  });
});
