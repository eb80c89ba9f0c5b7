import { expect, test } from '@jest/globals';
import type { LockClient, LockHandle, LockOptions } from 'nestjs-redis-lock';
import { openInboxes, untilQueued } from '../faults/support/queue.js';
import { describeWithRedisServer } from '../support/redis.js';
import { waitFor } from '../support/wait-for.js';
import type { CommandLog } from './support/command-log.js';
import { LockFixture, recordEvents, rejection } from './support/lock-fixture.js';

describeWithRedisServer('Queue: a lock that was granted', () => {
  const fixture = LockFixture.use();

  /** A lock that was told of, and not found by asking. */
  async function granted(
    options: LockOptions,
  ): Promise<{ lock: LockHandle; log: CommandLog; client: LockClient; obtainedAt: number }> {
    const [holder, client] = [fixture.client(), fixture.client()];
    await openInboxes(fixture, client);
    const first = await holder.acquire('order', { ttl: '1m' });
    const acquiring = client
      .acquire('order', { wait: '1m', ...options })
      .then((lock) => ({ lock, obtainedAt: performance.now() }));
    await untilQueued(fixture, 'order', 1);
    const log = await fixture.commandLog();
    await first.release();
    return { ...(await acquiring), log, client };
  }

  test('it is void after 3 s until the first renewal, a second later, removes that', async () => {
    const { lock, log } = await granted({ ttl: '1m' });
    expect(await fixture.fields('order')).toContain('@until');
    expect(lock.remaining).toBeLessThanOrEqual(3_000);
    const left = await fixture.lease('order');
    expect(left).toBeGreaterThan(3_000);
    expect(left).toBeLessThanOrEqual(8_000);

    await waitFor(async () => !(await fixture.fields('order')).includes('@until'));
    expect(await fixture.lease('order')).toBeGreaterThan(50_000);
    expect(lock.remaining).toBeGreaterThan(50_000);
    expect((await log.scripts()).filter((name) => name !== 'acquire')).toEqual(['release', 'renew']);
    expect(await lock.release()).toBe('released');
    await fixture.expectNothingLeft();
  });

  test('released before it was renewed → one command, and free', async () => {
    const { lock, log } = await granted({ ttl: '1m' });
    expect(await lock.release()).toBe('released');
    expect((await log.scripts()).filter((name) => name !== 'acquire')).toEqual(['release', 'release']);
    await fixture.expectNothingLeft();
  });

  test('renew: false → renewed once, at once, to its own ttl, and never again', async () => {
    const { lock, log, obtainedAt } = await granted({ ttl: '4s', renew: false });
    await waitFor(async () => !(await fixture.fields('order')).includes('@until'));
    // A renewed one would be confirmed a second later.
    expect(performance.now() - obtainedAt).toBeLessThan(900);
    expect(await fixture.lease('order')).toBeLessThanOrEqual(4_000);
    await waitFor(() => lock.signal.aborted);
    expect(lock.lost).toMatchObject({ reason: 'expired' });
    expect(await log.count('renew')).toBe(1);
    await lock.release();
    await fixture.expectNothingLeft();
  });

  test('renew: false and a ttl below that of the grant → it ends within what the grant promised', async () => {
    const { lock, log } = await granted({ ttl: 500, renew: false });
    await waitFor(async () => (await log.count('renew')) === 1);
    await waitFor(() => lock.signal.aborted);
    expect(await log.count('renew')).toBe(1);
    await waitFor(async () => fixture.isFree('order'));
    expect(await rejection(lock.extend())).toMatchObject({ code: 'LOCK_LOST' });
    await fixture.expectNothingLeft();
  });

  test('minHold → confirmed before the work begins, and closed for its whole minHold', async () => {
    const { lock, log } = await granted({ ttl: '1s', minHold: '5s' });
    expect((await log.scripts()).filter((name) => name !== 'acquire')).toEqual(['release', 'renew']);
    expect(await fixture.fields('order')).not.toContain('@until');
    expect(lock.remaining).toBeGreaterThan(4_000);
    expect(await lock.release()).toBe('kept');
    const rest = await fixture.lease('order');
    expect(rest).toBeGreaterThan(4_000);
    expect(rest).toBeLessThanOrEqual(5_000);
    expect(await fixture.fields('order')).toEqual(['@rest']);
    await fixture.redis.del(fixture.redisKey('order'));
    await fixture.expectNothingLeft();
  });

  test('extend and a nested lock before the first renewal → they confirm it, with the lease that was asked for', async () => {
    const { lock, client, log } = await granted({ ttl: '1m' });
    await lock.extend('2m');
    expect(await fixture.fields('order')).not.toContain('@until');
    expect(await fixture.lease('order')).toBeGreaterThan(100_000);
    await lock.run(async () => client.run('order', ({ fencingToken }) => expect(fencingToken).toBe(lock.fencingToken)));
    expect((await log.scripts()).filter((name) => name !== 'acquire')).toEqual(['release', 'renew']);
    await lock.release();
    await fixture.expectNothingLeft();
  });

  test('it is taken away before it was renewed → the holder is told at the first renewal', async () => {
    const { lock, client } = await granted({ ttl: '1m' });
    const lost = recordEvents(client, 'lost');
    await fixture.giveToSomebodyElse('order');
    await waitFor(() => lock.signal.aborted);
    expect(lost).toMatchObject([{ key: 'order', reason: 'taken' }]);
    expect(await lock.release()).toBe('lost');
    await fixture.redis.del(fixture.redisKey('order'));
    await fixture.expectNothingLeft();
  });

  test.each([{ fair: false }, { fair: true }])(
    'one client, %j → released is told before the next one acquired',
    async ({ fair }) => {
      const client = fixture.client();
      const told: string[] = [];
      client.events.on('acquired', ({ fencingToken }) => told.push(`acquired ${fencingToken}`));
      client.events.on('released', ({ fencingToken }) => told.push(`released ${fencingToken}`));
      const tokens: number[] = [];
      // A ttl of its own each, so that none is handed over.
      const ask = async (ttl: number): Promise<unknown> =>
        client.run('order', (lock) => tokens.push(lock.fencingToken), { ttl, fair, wait: '1m' });
      await Promise.all([60_000, 60_001, 60_002, 60_003].map(ask));
      expect(told).toEqual(tokens.flatMap((token) => [`acquired ${token}`, `released ${token}`]));
      await fixture.expectNothingLeft();
    },
  );
});
