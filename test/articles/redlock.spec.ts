import { expect, test } from '@jest/globals';
import { LockUnavailableError } from 'nestjs-redis-lock';
import { rejection } from '../cases/support/lock-fixture.js';
import { RedlockServers } from '../redlock/support/servers.js';
import { describeWithRedisServer } from '../support/redis.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { waitFor } from '../support/wait-for.js';

const TTL = 10_000;
/** What is taken off a lease for clocks that run at different speeds: 1 % and 2 ms. */
const DRIFT = TTL / 100 + 2;

// The steps of the article: the time before, the same lock on all nodes one after the other, the time after, and what is left.
describeWithRedisServer('Redlock, as the articles describe it', () => {
  const servers = RedlockServers.use();

  /** On how many nodes anybody holds the lock, the first ones left out. */
  async function heldBehind(count: number): Promise<number> {
    const answers = servers.redis.slice(count).map(async (redis) => redis.exists(servers.nameOf('order')));
    return (await Promise.all(answers)).reduce((sum, held) => sum + held, 0);
  }

  async function away(count: number, during: () => Promise<void>): Promise<void> {
    const gone = servers.servers.slice(0, count);
    await Promise.all(gone.map(async (server) => server.kill()));
    try {
      await during();
      await waitFor(async () => (await heldBehind(count)) === 0);
    } finally {
      await Promise.all(gone.map(async (server) => server.start()));
    }
    await servers.expectNothingLeft();
  }

  test.each([0, 1, 2])('quorum: with %d of 5 nodes away it is obtained', async (count) => {
    const client = await servers.client();
    await away(count, async () => {
      const lock = await client.acquire('order', { wait: 0 });
      await waitFor(() => lock.nodes === 5 - count);
      expect(await heldBehind(count)).toBe(5 - count);
      expect(await lock.release()).toBe('released');
    });
  });

  test.each([3, 4])('quorum: with %d of 5 nodes away it is not, and nothing of it stays', async (count) => {
    const client = await servers.client({ commandTimeout: 300 });
    await away(count, async () => {
      expect(await rejection(client.acquire('order', { wait: 0 }))).toBeInstanceOf(LockUnavailableError);
    });
  });

  test('quorum: who has two of five nodes does not have the lock, and who has three does', async () => {
    const [one, other] = [await servers.client(), await servers.client()];
    const first = await one.acquire('order', { ttl: TTL });
    await waitFor(() => first.nodes === 5);
    // Two nodes forget it: another one gets those two, and no more.
    for (const redis of servers.redis.slice(0, 2)) await redis.del(servers.nameOf('order'));
    expect(await other.tryAcquire('order')).toBeNull();
    expect(first.held).toBe(true);
    await servers.redis[2]?.del(servers.nameOf('order'));
    const lock = await other.acquire('order', { wait: 0 });
    expect(lock.nodes).toBeGreaterThanOrEqual(3);
    await lock.release();
    await first.release();
    await servers.expectNothingLeft();
  });

  test.each([0, 300, 900])(
    'validity = ttl − elapsed − drift, when a majority has taken %d ms to answer',
    async (ms) => {
      const proxies = await Promise.all(servers.servers.map(async ({ port }) => TcpProxy.listen(port)));
      try {
        const client = await servers.client({
          nodes: proxies.map(({ url }) => url),
          nodeTimeout: '5s',
          commandTimeout: '10s',
        });
        // Two answer at once; the third one makes the majority.
        for (const proxy of proxies.slice(2)) proxy.delay('answers', () => ms);
        const before = performance.now();
        const lock = await client.acquire('order', { ttl: TTL, renew: false, wait: 0 });
        const elapsed = performance.now() - before;
        const { remaining } = lock;
        const looked = performance.now() - before;
        expect(elapsed).toBeGreaterThanOrEqual(ms - 1);
        // It counts from before the first command: of all that has passed, nothing is left out.
        expect(remaining).toBeLessThanOrEqual(TTL - elapsed - DRIFT + 1);
        expect(remaining).toBeGreaterThanOrEqual(TTL - looked - DRIFT - 1);
        for (const proxy of proxies) proxy.delay('answers', () => 0);
        await lock.release();
      } finally {
        for (const proxy of proxies) proxy.close();
      }
      await servers.expectNothingLeft();
    },
  );

  test('release on all nodes: also on those that were not needed, that answered late, or that refused', async () => {
    const client = await servers.client();
    const lock = await client.acquire('order', { ttl: TTL });
    await waitFor(() => lock.nodes === 5);
    servers.servers[4]?.pause();
    expect(await lock.release()).toBe('released');
    servers.servers[4]?.resume();
    await servers.expectNothingLeft();

    const taken = 'somebody-else#1/9000000000000000';
    for (const redis of servers.redis.slice(0, 3)) await redis.hset(servers.nameOf('order'), taken, '9000000000000');
    expect(await client.tryAcquire('order')).toBeNull();
    // What two nodes had granted is undone; what others hold is theirs.
    await waitFor(async () => (await servers.holds('order')).slice(3).every((holds) => holds.length === 0));
    expect((await servers.holds('order')).slice(0, 3)).toEqual([[taken], [taken], [taken]]);
    for (const redis of servers.redis) await redis.del(servers.nameOf('order'));
  });
});
