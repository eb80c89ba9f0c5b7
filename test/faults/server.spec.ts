import { expect, test } from '@jest/globals';
import type { LockClient } from 'nestjs-redis-lock';
import { LockFixture, recordEvents } from '../cases/support/lock-fixture.js';
import { describeWithRedisServer } from '../support/redis.js';
import { waitFor } from '../support/wait-for.js';
import { inboxes, openInboxes, queueOf, untilListening, untilQueued } from './support/queue.js';

describeWithRedisServer('Redis kills clients, pauses, forgets or restarts', () => {
  const fixture = LockFixture.use();

  const kill = async (type: 'normal' | 'pubsub'): Promise<unknown> =>
    fixture.redis.client('KILL', 'TYPE', type, 'SKIPME', 'yes');

  test.each(['normal', 'pubsub'] as const)(
    'CLIENT KILL TYPE %s while one holds and others wait → still held, and the waiters keep their places',
    async (type) => {
      const [holder, a, b] = [fixture.client(), fixture.client(), fixture.client()];
      await openInboxes(fixture, a, b);
      const lost = recordEvents(holder, 'lost');
      const first = await holder.acquire('order', { ttl: '3s' });
      const order: string[] = [];
      const run = async (client: LockClient, name: string): Promise<unknown> =>
        client.run('order', () => order.push(name), { wait: '1m' });
      const one = run(a, 'a');
      await untilQueued(fixture, 'order', 1);
      const two = run(b, 'b');
      const queue = await untilQueued(fixture, 'order', 2);
      expect(await kill(type)).toBeGreaterThanOrEqual(2);
      await fixture.untilRenewed('order', 2);
      await untilListening(fixture, 2);
      await waitFor(async () => (await queueOf(fixture, 'order')).length === 2);
      expect(await queueOf(fixture, 'order')).toEqual(queue);
      expect(await first.release()).toBe('released');
      await Promise.all([one, two]);
      expect([order, lost]).toEqual([['a', 'b'], []]);
      await fixture.expectNothingLeft();
    },
  );

  test('CLIENT PAUSE for less than the lease → still held, and the next one is served', async () => {
    const [holder, next] = [fixture.client(), fixture.client()];
    const lost = recordEvents(holder, 'lost');
    const first = await holder.acquire('order', { ttl: '4s' });
    const acquiring = next.acquire('order', { ttl: '1m', wait: '1m' });
    await untilQueued(fixture, 'order', 1);
    await fixture.redis.client('PAUSE', 2_000, 'ALL');
    await fixture.untilRenewed('order', 2);
    expect(first.held).toBe(true);
    expect(await first.release()).toBe('released');
    await (await acquiring).release();
    expect(lost).toEqual([]);
    await fixture.expectNothingLeft();
  });

  test('CLIENT PAUSE for longer than the lease → lost before it can have ended, then the next one is served', async () => {
    const [holder, next] = [fixture.client(), fixture.client()];
    const first = await holder.acquire('order', { ttl: '1s' });
    const acquiring = next.acquire('order', { ttl: '1m', wait: '1m' });
    await untilQueued(fixture, 'order', 1);
    await fixture.redis.client('PAUSE', 2_500, 'ALL');
    await waitFor(() => first.signal.aborted);
    const lock = await acquiring;
    expect(lock.fencingToken).toBeGreaterThan(first.fencingToken);
    expect(await first.release()).toBe('lost');
    await lock.extend();
    expect(await lock.release()).toBe('released');
    await fixture.expectNothingLeft();
  });

  test('SCRIPT FLUSH again and again while many take turns → nobody notices', async () => {
    const clients = [fixture.client(), fixture.client()];
    let inside = 0;
    let overlaps = 0;
    let flushes = 0;
    const work = async (): Promise<void> => {
      if (++inside > 1) overlaps++;
      await fixture.redis.script('FLUSH');
      flushes++;
      inside--;
    };
    // Another ttl each time: through Redis, and not handed over.
    const callers = clients.flatMap((client) =>
      Array.from({ length: 50 }, async (_, n) => client.run('order', work, { ttl: 30_000 + n, wait: '1m' })),
    );
    await Promise.all(callers);
    expect([flushes, overlaps]).toEqual([100, 0]);
    await fixture.expectNothingLeft();
  });

  test('FLUSHALL → the holder is told at its next renewal, the waiter gets the lock, tokens go on growing', async () => {
    const [holder, next] = [fixture.client(), fixture.client()];
    const first = await holder.acquire('order', { ttl: '3s' });
    const acquiring = next.acquire('order', { ttl: '1m', wait: '1m' });
    await untilQueued(fixture, 'order', 1);
    await fixture.redis.flushall();
    const lock = await acquiring;
    await waitFor(() => first.signal.aborted);
    expect(first.lost).toMatchObject({ reason: 'taken' });
    expect(lock.fencingToken).toBeGreaterThan(first.fencingToken);
    expect(await first.release()).toBe('lost');
    await lock.extend();
    expect(await lock.release()).toBe('released');
    await fixture.expectNothingLeft();
  });

  test('FLUSHALL while many wait in three processes → everybody is served', async () => {
    const clients = [fixture.client(), fixture.client(), fixture.client()];
    const first = await clients[0]?.acquire('order', { ttl: '3s' });
    const callers = clients.flatMap((client) =>
      Array.from({ length: 20 }, async () => client.run('order', () => true, { wait: '1m' })),
    );
    await untilListening(fixture, 2);
    await untilQueued(fixture, 'order', 2);
    await fixture.redis.flushall();
    await waitFor(() => first?.signal.aborted);
    expect(await first?.release()).toBe('lost');
    expect((await Promise.all(callers)).length).toBe(60);
    await fixture.expectNothingLeft();
  });

  test('restart, which forgets locks, places and scripts → the holder is told, everybody who waits is served', async () => {
    const [holder, ...others] = [fixture.client(), fixture.client(), fixture.client()];
    const first = await holder.acquire('order', { ttl: '5s' });
    const callers = others.flatMap((client) =>
      Array.from({ length: 10 }, async () => client.run('order', ({ fencingToken }) => fencingToken, { wait: '1m' })),
    );
    await untilListening(fixture, 2);
    await untilQueued(fixture, 'order', 2);
    await fixture.server.kill();
    await fixture.server.restart();
    await waitFor(() => first.signal.aborted);
    expect(await first.release()).toBe('lost');
    const tokens = await Promise.all(callers);
    expect(new Set([first.fencingToken, ...tokens]).size).toBe(21);
    expect(Math.min(...tokens)).toBeGreaterThan(first.fencingToken);
    await fixture.expectNothingLeft();
    // What they waited for is over; their inboxes stay, one a process.
    expect(await inboxes(fixture)).toHaveLength(2);
  });

  test('CLIENT KILL of everybody again and again while many take turns → one at a time, everybody is served', async () => {
    const clients = [fixture.client(), fixture.client()];
    let inside = 0;
    let overlaps = 0;
    const work = async (): Promise<void> => {
      if (++inside > 1) overlaps++;
      await new Promise((resolve) => setTimeout(resolve, 5));
      inside--;
    };
    const killing = setInterval(() => {
      void kill('normal');
      void kill('pubsub');
    }, 250);
    const callers = clients.flatMap((client) =>
      Array.from({ length: 100 }, async () => client.run('order', work, { ttl: '30s', wait: '1m' })),
    );
    const outcomes = await Promise.allSettled(callers).finally(() => clearInterval(killing));
    expect(outcomes.flatMap((each) => (each.status === 'rejected' ? [String(each.reason)] : []))).toEqual([]);
    expect(overlaps).toBe(0);
    await fixture.expectNothingLeft();
  });
});
