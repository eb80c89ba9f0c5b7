import { expect, test } from '@jest/globals';
import { LockArgumentError, RESERVED_TOKENS } from 'nestjs-redis-lock';
import { describeWithRedisServer } from '../support/redis.js';
import { waitFor } from '../support/wait-for.js';
import { RedlockServers } from './support/servers.js';

describeWithRedisServer('Fencing tokens of Redlock', () => {
  const servers = RedlockServers.use();

  test('grow, over clients and keys', async () => {
    const clients = [await servers.client(), await servers.client()];
    let highest = 0;
    for (let round = 0; round < 20; round++) {
      for (const client of clients) {
        const lock = await client.acquire('k');
        expect(lock.fencingToken).toBeGreaterThan(highest + RESERVED_TOKENS);
        highest = lock.fencingToken;
        await lock.release();
      }
    }
  });

  test.each([1, 2, 3, 5])('are above what %d nodes know, and the same on all of them', async (ahead) => {
    const client = await servers.client();
    const far = Date.now() * 1_000 + 3_600_000_000;
    await Promise.all(servers.redis.slice(0, ahead).map(async (redis) => redis.set(servers.fence, String(far))));
    const lock = await client.acquire('k');
    expect(lock.fencingToken).toBeGreaterThan(ahead >= 3 ? far : 0);
    await waitFor(() => lock.nodes === 5);
    const field = (await servers.holds('k'))[0]?.[0];
    expect(field).toMatch(new RegExp(`/${lock.fencingToken}$`));
    await waitFor(async () => (await servers.holds('k')).every(([hold]) => hold === field));
    const fences = await Promise.all(servers.redis.map(async (redis) => Number(await redis.get(servers.fence))));
    for (const fence of fences) expect(fence).toBeGreaterThanOrEqual(lock.fencingToken + RESERVED_TOKENS);
    expect(await lock.release()).toBe('released');
    await servers.expectNothingLeft();
  });

  test('grow when another majority gives the next one', async () => {
    const first = await servers.store();
    const far = Date.now() * 1_000 + 3_600_000_000;
    for (const redis of servers.redis.slice(0, 3)) await redis.set(servers.fence, String(far));
    for (const server of servers.servers.slice(3)) server.pause();
    const command = { key: 'k', leaseMs: 60_000, withinMs: 1_000 };
    const a = await first.acquire({ ...command, member: 'a#1' });
    await first.release({ key: 'k', member: 'a#1', minHoldMs: 0 });
    for (const server of servers.servers) server.resume();
    const second = await servers.store();
    for (const server of servers.servers.slice(0, 2)) server.pause();
    const b = await second.acquire({ ...command, member: 'b#1' });
    expect([a.status, b.status]).toEqual(['acquired', 'acquired']);
    expect(b.token).toBeGreaterThan(a.token);
    await second.release({ key: 'k', member: 'b#1', minHoldMs: 0 });
    for (const server of servers.servers) server.resume();
    await servers.expectNothingLeft();
  });

  test('that nobody has agreed upon are not given out by an acquire that is repeated', async () => {
    const store = await servers.store();
    const [old, far] = [Date.now() * 1_000, Date.now() * 1_000 + 3_600_000_000];
    for (const redis of servers.redis) {
      await redis.set(servers.fence, String(far));
      await redis.hset(servers.nameOf('k'), `m#1/${old}`, '-9000000000000');
      await redis.pexpire(servers.nameOf('k'), 60_000);
    }
    const reply = await store.acquire({ key: 'k', member: 'm#1', leaseMs: 60_000, withinMs: 1_000 });
    expect(reply.status).toBe('acquired');
    expect(reply.token).toBeGreaterThan(far);
    await store.release({ key: 'k', member: 'm#1', minHoldMs: 0 });
    await servers.expectNothingLeft();
  });

  test('are not to be had with "fencing: false", which says so', async () => {
    const client = await servers.client({ fencing: false });
    await using lock = await client.acquire('k');
    expect(() => lock.fencingToken).toThrow(LockArgumentError);
    expect(() => lock.fencingToken).toThrow('fencing: false');
  });

  test('with "fencing: false" a node that is ahead costs no second round', async () => {
    const store = await servers.store({ fencing: false });
    for (const redis of servers.redis) await redis.set(servers.fence, String(Date.now() * 1_000 + 3_600_000_000));
    const sent = async (): Promise<number> => {
      const stats = await servers.redis[0]?.info('commandstats');
      return Number(/cmdstat_evalsha:calls=(\d+)/.exec(stats ?? '')?.[1] ?? 0);
    };
    const before = await sent();
    const reply = await store.acquire({ key: 'k', member: 'm#1', leaseMs: 60_000, withinMs: 1_000 });
    await store.release({ key: 'k', member: 'm#1', token: reply.token, minHoldMs: 0 });
    await servers.expectNothingLeft();
    expect((await sent()) - before).toBe(2);
  });
});
