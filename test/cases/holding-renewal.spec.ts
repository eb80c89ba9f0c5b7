import { expect, test } from '@jest/globals';
import { LockLostError, LockUnavailableError, type LockHandle } from 'nestjs-redis-lock';
import { setInterval as every } from 'node:timers/promises';
import { describeWithRedisServer } from '../support/redis.js';
import { waitFor } from '../support/wait-for.js';
import { LockFixture, recordEvents, rejection } from './support/lock-fixture.js';

describeWithRedisServer('Holding: renewal', () => {
  const fixture = LockFixture.use();

  test('case 9: the work takes longer than its lease → held to its end, and nobody else gets in', async () => {
    const [client, rival] = [fixture.client(), fixture.client()];
    const lost = recordEvents(client, 'lost');
    const attempts: unknown[] = [];

    const done = await client.run(
      'order',
      async (lock) => {
        const started = performance.now();
        const [owner] = await fixture.holds('order');
        // A lease of a second, renewed after a third of it: four renewals are the article's 12 s of 10.
        await fixture.untilRenewed('order', 4);
        for (let n = 0; n < 10; n++) attempts.push(await rival.tryAcquire('order'));
        expect(performance.now() - started).toBeGreaterThan(1_200);
        expect(await fixture.holds('order')).toEqual([owner]);
        expect(lock.held).toBe(true);
        return 'done';
      },
      { ttl: 1_000 },
    );

    expect(done).toBe('done');
    expect(attempts).toEqual(Array(10).fill(null));
    expect(lost).toEqual([]);
    await fixture.expectNothingLeft();
  });

  test('case 9: a waiter that keeps asking during work longer than the lease → it gets in only after the end', async () => {
    const [client, rival] = [fixture.client(), fixture.client({ backoff: { initial: 5, max: 10 } })];
    const order: string[] = [];
    const first = await client.acquire('order', { ttl: 600 });
    const waiting = rival.run('order', () => order.push('rival'), { wait: '1m' });
    await fixture.untilRenewed('order', 5);
    order.push('end of the work');
    expect(await first.release()).toBe('released');
    await waiting;
    expect(order).toEqual(['end of the work', 'rival']);
    await fixture.expectNothingLeft();
  });

  test('case 10: the reply to one renewal is lost with its connection → tried again, still held', async () => {
    const { proxy, client } = await fixture.clientBehindProxy();
    const failed = recordEvents(client, 'renewalFailed');
    const lost = recordEvents(client, 'lost');
    const lock = await client.acquire('order', { ttl: '3s' });
    proxy.dropReplies(1);

    await waitFor(() => failed.length > 0);
    await fixture.untilRenewed('order', 2);
    expect(failed).toEqual([expect.objectContaining({ key: 'order', fencingToken: lock.fencingToken })]);
    expect(lost).toEqual([]);
    expect(lock.held).toBe(true);
    expect(await lock.release()).toBe('released');
    await fixture.expectNothingLeft();
  });

  test('case 10: Redis refuses renewals for a while → told once, tried again, still held', async () => {
    const client = fixture.client();
    const failed = recordEvents(client, 'renewalFailed');
    const lost = recordEvents(client, 'lost');
    const lock = await client.acquire('order', { ttl: '3s' });
    const log = await fixture.commandLog();
    await fixture.redis.config('SET', 'min-replicas-to-write', 1);
    try {
      await waitFor(async () => (await log.count('renew')) > 2);
    } finally {
      await fixture.redis.config('SET', 'min-replicas-to-write', 0);
    }
    await fixture.untilRenewed('order', 2);
    expect(failed).toHaveLength(1);
    expect(failed[0]?.cause).toBeInstanceOf(LockUnavailableError);
    expect(lost).toEqual([]);
    expect(await lock.release()).toBe('released');
    await fixture.expectNothingLeft();
  });

  test('case 10: all connections are killed again and again for two leases → still held by the same owner', async () => {
    const client = fixture.client();
    const lost = recordEvents(client, 'lost');
    const lock = await client.acquire('order', { ttl: '3s' });
    const owner = await fixture.holds('order');

    // Every 2 s for a minute under a lease of 30 s, ten times as fast.
    const ticks = every(200)[Symbol.asyncIterator]();
    let hits = 0;
    for (let round = 0; round < 30; round++) {
      await ticks.next();
      if (Number(await fixture.redis.client('KILL', 'TYPE', 'normal', 'SKIPME', 'yes')) > 0) hits++;
    }
    await ticks.return?.();

    expect(hits).toBeGreaterThan(15);
    expect(lost).toEqual([]);
    expect(lock.held).toBe(true);
    expect(await fixture.holds('order')).toEqual(owner);
    expect(await lock.release()).toBe('released');
    await fixture.expectNothingLeft();
  });

  test.each([500, 300])(
    'case 15: a lease of %i ms → renewed after about a third of it, not more often',
    async (ttl) => {
      const client = fixture.client();
      const lock = await client.acquire('order', { ttl });
      const log = await fixture.commandLog();
      const started = performance.now();
      await fixture.untilRenewed('order', 6);
      const renewals = await log.count('renew');
      // What is due soon goes along with what is due, a thirtieth of the lease earlier at most.
      expect(renewals).toBeLessThanOrEqual((performance.now() - started) / (0.3 * ttl) + 1);
      await lock.release();
      await fixture.expectNothingLeft();
    },
  );

  test.each([50, 20, 5])('case 15: a lease of %i ms → no tight loop, whether it is lost or not', async (ttl) => {
    const client = fixture.client();
    await fixture.connected(client);
    const log = await fixture.commandLog();
    const started = performance.now();
    const untilLost = async ({ signal }: LockHandle): Promise<unknown> =>
      waitFor(() => signal.aborted || performance.now() - started > 300);
    const outcome = await client.run('order', untilLost, { ttl, wait: 300 }).catch((error: unknown) => error);

    // It may well be lost, or over before its answer arrived; that is what so short a lease is.
    const kind = outcome instanceof Error ? outcome.constructor : outcome;
    expect([true, LockLostError, LockUnavailableError]).toContain(kind);
    expect((await log.calls()).length).toBeLessThanOrEqual((performance.now() - started) / (0.3 * ttl) + 20);
  });

  test.each([2, 1])(
    'case 15: a lease of %i ms, which is over before it could be used → refused, and asked for at a sane pace',
    async (ttl) => {
      const client = fixture.client();
      const log = await fixture.commandLog();
      const error = await rejection(client.acquire('order', { ttl, wait: 400 }));
      expect(error).toBeInstanceOf(LockUnavailableError);
      // Each attempt is given back; the pauses between them grow from 25 ms on.
      expect((await log.calls()).length).toBeLessThan(40);
      await fixture.expectNothingLeft();
    },
  );

  test('case 15: renewals of a short lease fail at once → tried again at a sane pace until it is over', async () => {
    const client = fixture.client();
    const lost = recordEvents(client, 'lost');
    await client.acquire('order', { ttl: 500 });
    const log = await fixture.commandLog();
    await fixture.redis.config('SET', 'min-replicas-to-write', 1);
    try {
      await waitFor(() => lost.length > 0);
    } finally {
      await fixture.redis.config('SET', 'min-replicas-to-write', 0);
    }
    expect(lost).toEqual([expect.objectContaining({ reason: 'expired' })]);
    const renewals = await log.count('renew');
    expect(renewals).toBeGreaterThan(1);
    expect(renewals).toBeLessThan(20);
  });
});
