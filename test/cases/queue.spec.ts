import { expect, test } from '@jest/globals';
import type { LockClient } from 'nestjs-redis-lock';
import { callsOf, inboxes, openInboxes, untilListening, untilQueued } from '../faults/support/queue.js';
import { describeWithRedisServer } from '../support/redis.js';
import { waitFor } from '../support/wait-for.js';
import { LockFixture } from './support/lock-fixture.js';

describeWithRedisServer('Queue: what a contended lock costs', () => {
  const fixture = LockFixture.use();

  const connections = async (): Promise<number> =>
    Number(/connected_clients:(\d+)/.exec(await fixture.redis.info('clients'))?.[1]);

  /** What Redis was told to do since the statistics were reset, and how many polls there can have been. */
  async function costs(work: () => Promise<unknown>, pollers: number): Promise<{ scripts: number; messages: number }> {
    await fixture.redis.config('RESETSTAT');
    const started = performance.now();
    await work();
    const polls = pollers * Math.floor((performance.now() - started) / 1_500);
    const scripts = (await callsOf(fixture, 'evalsha')) + (await callsOf(fixture, 'eval'));
    return { scripts: scripts - polls, messages: await callsOf(fixture, 'publish') };
  }

  test.each([2, 20])(
    '%d clients, one caller each → two commands and one message for each of them, however many wait',
    async (count) => {
      const holder = fixture.client();
      const clients = Array.from({ length: count }, () => fixture.client());
      await openInboxes(fixture, ...clients);
      const first = await holder.acquire('order', { ttl: '1m' });
      const { scripts, messages } = await costs(async () => {
        const done = clients.map(async (client) => client.run('order', () => true, { wait: '1m' }));
        await untilQueued(fixture, 'order', count);
        await first.release();
        await Promise.all(done);
      }, count);
      // The first release, and an acquire and a release of each.
      expect(scripts).toBeLessThanOrEqual(1 + 2 * count);
      expect(messages).toBe(count);
      await fixture.expectNothingLeft();
    },
  );

  test('four clients, 25 callers each, who cannot be handed the lock → one command and one message a caller', async () => {
    const holder = fixture.client();
    const clients = Array.from({ length: 4 }, () => fixture.client());
    await openInboxes(fixture, ...clients);
    const first = await holder.acquire('order', { ttl: '1m' });
    const { scripts, messages } = await costs(async () => {
      const done = clients.flatMap((client) =>
        Array.from({ length: 25 }, async (_, n) => client.run('order', () => true, { wait: '1m', ttl: 60_000 + n })),
      );
      await untilQueued(fixture, 'order', 4);
      await first.release();
      await Promise.all(done);
    }, 4);
    // The first release, four who ask for the others of their process, and a release of each that queues the next one.
    expect(scripts).toBeLessThanOrEqual(1 + 4 + 100);
    expect(messages).toBeLessThanOrEqual(100);
    await fixture.expectNothingLeft();
  });

  test('four clients, 25 callers each, in one burst → a command for every two hand-overs at most', async () => {
    const holder = fixture.client();
    const clients = Array.from({ length: 4 }, () => fixture.client());
    await openInboxes(fixture, ...clients);
    const first = await holder.acquire('order', { ttl: '1m' });
    const { scripts, messages } = await costs(async () => {
      const done = clients.flatMap((client) =>
        Array.from({ length: 25 }, async () => client.run('order', () => true, { wait: '1m' })),
      );
      await untilQueued(fixture, 'order', 4);
      await first.release();
      await Promise.all(done);
    }, 4);
    expect(scripts).toBeLessThanOrEqual(50);
    expect(messages).toBeLessThanOrEqual(9);
    await fixture.expectNothingLeft();
  });

  test('nobody waits → two commands, no message, and no inbox', async () => {
    const client = fixture.client();
    await fixture.connected(client);
    const before = await connections();
    const { scripts, messages } = await costs(async () => {
      for (let round = 0; round < 50; round++) await client.run(`order-${round % 5}`, () => true, { wait: '1m' });
      expect(await client.tryRun('order-0', () => 'free')).toEqual({ ran: true, value: 'free' });
    }, 0);
    expect([scripts, messages]).toEqual([102, 0]);
    expect([await inboxes(fixture), await connections()]).toEqual([[], before]);
    await fixture.expectNothingLeft();
  });

  test('who does not wait (wait: 0) finds the key held → no inbox', async () => {
    const [holder, client] = [fixture.client(), fixture.client()];
    const lock = await holder.acquire('order', { ttl: '1m' });
    for (let attempt = 0; attempt < 20; attempt++) expect(await client.tryAcquire('order')).toBeNull();
    expect(await inboxes(fixture)).toEqual([]);
    await lock.release();
    await fixture.expectNothingLeft();
  });

  test('who waits for the first time opens its inbox, and that is all that is ever subscribed', async () => {
    const [holder, client] = [fixture.client(), fixture.client()];
    const keys = Array.from({ length: 50 }, (_, n) => `order-${n}`);
    await fixture.redis.config('RESETSTAT');
    const locks = await Promise.all(keys.map(async (key) => holder.acquire(key, { ttl: '1m' })));
    const lockOnce = async (key: string): Promise<unknown> => (await client.acquire(key, { wait: '1m' })).release();
    const waiting = [lockOnce('order-0')];
    const [inbox] = await untilListening(fixture, 1);
    waiting.push(...keys.slice(1).map(lockOnce));
    for (const key of keys) await untilQueued(fixture, key, 1);
    await Promise.all(locks.map(async (lock) => lock.release()));
    await Promise.all(waiting);
    const again = await holder.acquire('order-0', { ttl: '1m' });
    const last = client.acquire('order-0', { wait: '1m' });
    await untilQueued(fixture, 'order-0', 1);
    await again.release();
    await (await last).release();
    expect(await inboxes(fixture)).toEqual([inbox]);
    const names = ['subscribe', 'psubscribe', 'ssubscribe'];
    expect(await Promise.all(names.map(async (name) => callsOf(fixture, name)))).toEqual([1, 0, 0]);
    await fixture.expectNothingLeft();
  });

  test('the numbers of a queue are its arrival, and the queue ends by itself when nobody asks any more', async () => {
    const [holder, client] = [fixture.client(), fixture.client()] as [LockClient, LockClient];
    const lock = await holder.acquire('order', { ttl: '1m' });
    const waiting = client.acquire('order', { wait: '1m' });
    await untilQueued(fixture, 'order', 1);
    const queue = `${fixture.redisKey('order')}:queue`;
    const [, arrival] = await fixture.redis.zrange(queue, 0, 0, 'WITHSCORES');
    expect(Number(arrival)).toBeGreaterThan(lock.fencingToken);
    const left = await fixture.redis.pttl(queue);
    expect(left).toBeGreaterThan(0);
    expect(left).toBeLessThanOrEqual(7_500);
    // Each poll renews it.
    await waitFor(async () => (await fixture.redis.pttl(queue)) < 7_000);
    await waitFor(async () => (await fixture.redis.pttl(queue)) > 7_000);
    await lock.release();
    const mine = await waiting;
    expect(mine.fencingToken).toBeGreaterThan(Number(arrival));
    await mine.release();
    await fixture.expectNothingLeft();
  });
});
