import { expect, test } from '@jest/globals';
import { aborted } from '../cases/support/lock-fixture.js';
import { describeWithRedisServer } from '../support/redis.js';
import { waitFor } from '../support/wait-for.js';
import { RedlockServers } from './support/servers.js';

describeWithRedisServer('Renewals of Redlock', () => {
  const servers = RedlockServers.use();

  test('give a node that was restarted its lock again', async () => {
    const client = await servers.client();
    const lock = await client.acquire('k', { ttl: 3_000 });
    await waitFor(() => lock.nodes === 5);
    await servers.servers[1]?.restart();
    await waitFor(async () => (await servers.redis[1]?.exists(servers.nameOf('k')).catch(() => 0)) === 1, {
      what: 'the node has it again',
    });
    await waitFor(() => lock.nodes === 5);
    expect(lock.held).toBe(true);
    const [first, second] = await servers.holds('k');
    expect(second).toEqual(first);
    expect(await lock.release()).toBe('released');
    await servers.expectNothingLeft();
  });

  test('do not count nodes that have forgotten the lock: a majority of them, and it is lost', async () => {
    const client = await servers.client();
    const lock = await client.acquire('k', { ttl: 1_500 });
    await waitFor(() => lock.nodes === 5);
    for (const redis of servers.redis.slice(0, 3)) await redis.flushall();
    const { reason } = await aborted(lock);
    expect(reason).toMatchObject({ reason: 'taken' });
    await servers.expectNothingLeft();
  });

  test('that too few nodes answer are tried again until the lease is over', async () => {
    const client = await servers.client();
    const lock = await client.acquire('k', { ttl: 900 });
    for (const server of servers.servers.slice(0, 3)) server.pause();
    const { reason } = await aborted(lock);
    expect(reason).toMatchObject({ reason: 'expired' });
    for (const server of servers.servers) server.resume();
    await servers.expectNothingLeft();
  });

  test('repair nothing after a release', async () => {
    const store = await servers.store();
    const reply = await store.acquire({ key: 'k', member: 'm#1', leaseMs: 60_000, withinMs: 1_000 });
    for (const redis of servers.redis.slice(0, 2)) await redis.flushall();
    const renewed = store.renew([{ key: 'k', member: 'm#1', token: reply.token, leaseMs: 60_000 }]);
    const released = store.release({ key: 'k', member: 'm#1', token: reply.token, minHoldMs: 0 });
    await Promise.allSettled([...renewed, released]);
    await servers.expectNothingLeft();
    expect(await store.inspect('k')).toEqual({ status: 'free' });
  });
});
