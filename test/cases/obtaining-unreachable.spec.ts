import { expect, test } from '@jest/globals';
import { LockUnavailableError } from 'nestjs-redis-lock';
import { freePort, startRedis } from '../../scripts/lib/servers.mjs';
import { describeWithRedisServer } from '../support/redis.js';
import { waitFor } from '../support/wait-for.js';
import { LockFixture, rejection, timed } from './support/lock-fixture.js';

describeWithRedisServer('Obtaining: Redis is out of reach', () => {
  const fixture = LockFixture.use();

  test('case 4: Redis was never there → unreachable at the deadline', async () => {
    const client = fixture.client({ connection: `redis://127.0.0.1:${await freePort()}` });
    const { result: error, ms } = await timed(async () => rejection(client.acquire('order', { wait: 300 })));
    expect(error).toBeInstanceOf(LockUnavailableError);
    expect(error).toMatchObject({ code: 'LOCK_UNAVAILABLE', statusCode: 503, key: 'order' });
    expect(ms).toBeGreaterThan(290);
    expect(ms).toBeLessThan(3_000);
  });

  test('case 4: Redis goes down → unreachable at the deadline, and obtained once Redis is back', async () => {
    await using server = await startRedis();
    const client = fixture.client({ connection: server.url });
    await fixture.connected(client);
    await server.kill();

    const { result: error, ms } = await timed(async () => rejection(client.acquire('order', { wait: 300 })));
    expect(error).toBeInstanceOf(LockUnavailableError);
    expect(ms).toBeGreaterThan(290);
    expect(ms).toBeLessThan(3_000);

    await server.restart();
    const lock = await client.acquire('order', { wait: '30s' });
    expect(await lock.release()).toBe('released');
  });

  test('case 4: Redis hangs, wait 0 → unreachable after commandTimeout, not busy', async () => {
    const client = fixture.client({ commandTimeout: 300 });
    await fixture.connected(client);
    fixture.server.pause();
    const { result: error, ms } = await timed(async () => rejection(client.acquire('order', { wait: 0 })));
    expect(error).toBeInstanceOf(LockUnavailableError);
    expect(ms).toBeLessThan(3_000);
    expect(await rejection(client.tryAcquire('order'))).toBeInstanceOf(LockUnavailableError);

    fixture.server.resume();
    await fixture.expectNothingLeft();
  });

  test('case 4: Redis hangs while callers queue → each of them gets unreachable at its own deadline', async () => {
    const client = fixture.client();
    await fixture.connected(client);
    fixture.server.pause();
    const errors = await Promise.all(
      [300, 500, 700].map(async (wait) => timed(async () => rejection(client.acquire('order', { wait })))),
    );
    expect(errors.map(({ result }) => result)).toEqual([
      expect.any(LockUnavailableError),
      expect.any(LockUnavailableError),
      expect.any(LockUnavailableError),
    ]);
    expect(Math.max(...errors.map(({ ms }) => ms))).toBeLessThan(7_000);

    fixture.server.resume();
    await fixture.expectNothingLeft();
  });

  test.each([
    { when: 'before a command times out', commandTimeout: 1_000, wait: 900 },
    { when: 'after commands have timed out', commandTimeout: 300, wait: 1_350 },
  ])(
    'case 4: Redis hangs after it said that the key is held, deadline $when → unreachable, not held',
    async ({ commandTimeout, wait }) => {
      const [holder, client] = [
        fixture.client(),
        fixture.client({ commandTimeout, backoff: { initial: 10, max: 20 } }),
      ];
      const lock = await holder.acquire('order', { ttl: '1m' });
      const log = await fixture.commandLog();

      const acquiring = rejection(client.acquire('order', { wait }));
      await waitFor(async () => (await log.count('acquire')) > 0);
      fixture.server.pause();
      expect(await acquiring).toBeInstanceOf(LockUnavailableError);

      fixture.server.resume();
      await lock.release();
      await fixture.expectNothingLeft();
    },
  );

  test('case 4: what a hanging Redis took all the same → given back as soon as it answers', async () => {
    // The hang is in the replies: the command has been carried out, and nobody hears of it.
    const { proxy, client } = await fixture.clientBehindProxy({ commandTimeout: 300 });
    proxy.holdReplies();
    expect(await rejection(client.acquire('order', { ttl: '1m', wait: 0 }))).toBeInstanceOf(LockUnavailableError);
    proxy.releaseReplies();
    await fixture.expectNothingLeft();
    expect(await fixture.redis.exists(`${fixture.prefix}:fence`)).toBe(1);
  });

  test('case 4: Redis wakes up after the deadline of what it had received → it takes nothing', async () => {
    const client = fixture.client({ commandTimeout: 300 });
    await fixture.connected(client);
    fixture.server.pause();
    expect(await rejection(client.acquire('order', { ttl: '1m', wait: 0 }))).toBeInstanceOf(LockUnavailableError);
    const givenUp = performance.now();
    await waitFor(() => performance.now() - givenUp > 500);
    fixture.server.resume();
    await fixture.expectNothingLeft();
    // Not even a token was minted.
    expect(await fixture.redisKeys()).toEqual([]);
  });

  test('Redis was never there, and the client is closed → whoever asked something is told at once, not after its time limit', async () => {
    const client = fixture.client({ connection: `redis://127.0.0.1:${await freePort()}`, commandTimeout: '1m' });
    const asked = [rejection(client.isLocked('order')), rejection(client.acquire('order', { wait: '1h' }))];
    await client.close();
    const { result, ms } = await timed(async () => Promise.all(asked));
    expect(result).toMatchObject([{ code: 'LOCK_UNAVAILABLE' }, { code: 'LOCK_SHUTDOWN' }]);
    expect(ms).toBeLessThan(6_000);
  });
});
