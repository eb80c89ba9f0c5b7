import { expect, test } from '@jest/globals';
import { describeWithRedisServer } from '../support/redis.js';
import { waitFor } from '../support/wait-for.js';
import { documentedRights, makeUser, refusals } from '../topologies/support/acl.js';
import { RedlockServers } from './support/servers.js';

describeWithRedisServer('Redlock of a user with the documented rights', () => {
  const servers = RedlockServers.use(3);

  test('case 47: everything works, and nothing is refused', async () => {
    await makeUser(servers.servers, 'locks', documentedRights(servers.prefix));
    const nodes = servers.servers.map(({ port }) => ({
      host: '127.0.0.1',
      port,
      username: 'locks',
      password: 'secret',
    }));
    const [one, other] = [await servers.client({ nodes }), await servers.client({ nodes })];
    const lock = await one.acquire('order', { ttl: 900 });
    const waiting = other.acquire('order', { wait: '20s' });
    await waitFor(async () => {
      const queues = await Promise.all(
        servers.redis.map(async (redis) => redis.zcard(`${servers.nameOf('order')}:queue`)),
      );
      return queues.every((size) => size === 1);
    });
    await lock.extend('2s');
    expect(await lock.release()).toBe('released');
    const next = await waiting;
    expect(next.fencingToken).toBeGreaterThan(lock.fencingToken);
    expect(await next.release()).toBe('released');
    // A second round for the token: a node that is ahead.
    await servers.redis[0]?.set(servers.fence, next.fencingToken + 10_000_000);
    const ahead = await one.acquire('order');
    expect(ahead.fencingToken).toBeGreaterThan(next.fencingToken);
    expect(await other.isLocked('order')).toBe(true);
    expect(await ahead.release()).toBe('released');
    await servers.expectNothingLeft();
    expect(await refusals(servers.servers)).toEqual([]);
  });
});
