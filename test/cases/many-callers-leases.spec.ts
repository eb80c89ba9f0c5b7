import { expect, test } from '@jest/globals';
import type { LockClient, LockHandle } from 'nestjs-redis-lock';
import { openInboxes, untilQueued } from '../faults/support/queue.js';
import { describeWithRedisServer } from '../support/redis.js';
import { waitFor } from '../support/wait-for.js';
import { LockFixture, rejection, timed } from './support/lock-fixture.js';

describeWithRedisServer('Many callers and their leases', () => {
  const fixture = LockFixture.use();

  test('case 16: 60 callers of three clients, each with a ttl of its own → nobody works under the lease of another one', async () => {
    const [holder, ...clients] = [fixture.client(), fixture.client(), fixture.client(), fixture.client()];
    await openInboxes(fixture, ...clients);
    const first = await holder.acquire('order', { ttl: '1h' });
    const seen: { ttl: number; lease: number; remaining: number }[] = [];
    const ask = async (client: LockClient, n: number): Promise<unknown> => {
      // Longer than what a grant promises until it is confirmed.
      const ttl = 10_000 * (1 + (n % 7));
      const options = { ttl, wait: '1m', renew: n % 3 !== 0, fair: n % 4 === 0 } as const;
      return client.run(
        'order',
        async (lock) => {
          await lock.extend();
          seen.push({ ttl, lease: await fixture.lease('order'), remaining: lock.remaining });
        },
        options,
      );
    };
    const done = clients.flatMap((client, which) => Array.from({ length: 20 }, async (_, n) => ask(client, n + which)));
    await untilQueued(fixture, 'order', 18);
    await first.release();
    await Promise.all(done);
    expect(seen).toHaveLength(60);
    expect(seen.filter(({ ttl, lease, remaining }) => Math.max(lease, remaining) > ttl)).toEqual([]);
    await fixture.expectNothingLeft();
  });

  test('case 16: a caller with a ttl of 1 h leaves, the next one of its process has 4 s → its lease in Redis is 4 s', async () => {
    const [holder, client] = [fixture.client(), fixture.client()];
    await openInboxes(fixture, client);
    const first = await holder.acquire('order', { ttl: '1m' });
    const stop = new AbortController();
    const one = rejection(client.acquire('order', { ttl: '1h', wait: '1m', signal: stop.signal }));
    await untilQueued(fixture, 'order', 1);
    const two = client.acquire('order', { ttl: '4s', wait: '1m' });
    stop.abort();
    expect(await one).toMatchObject({ code: 'LOCK_ABORTED' });
    await first.release();
    const lock = await two;
    await waitFor(async () => !(await fixture.fields('order')).includes('@until'));
    expect(await fixture.lease('order')).toBeLessThanOrEqual(4_000);
    expect(lock.remaining).toBeLessThanOrEqual(4_000);
    await lock.release();
    await fixture.expectNothingLeft();
  });

  test('case 16: the lease of a caller that left while its command was under way → is not what the next one gets', async () => {
    for (let round = 0; round < 30; round++) {
      const client = fixture.client();
      const stop = new AbortController();
      const one = client.acquire('order', { ttl: '1h', wait: '1m', signal: stop.signal }).then(
        async (lock) => lock.release(),
        () => 'aborted',
      );
      const two = client.acquire('order', { ttl: '2s', wait: '1m' });
      if (round % 3 > 0) await new Promise((resolve) => setImmediate(resolve));
      if (round % 3 > 1) await fixture.redis.ping();
      stop.abort();
      await one;
      const lock = await two;
      expect(await fixture.lease('order')).toBeLessThanOrEqual(2_000);
      expect(await lock.release()).toBe('released');
      await client.close();
    }
    await fixture.expectNothingLeft();
  });

  test.each([
    { first: { ttl: '20s', renew: false }, second: { ttl: '28s', renew: false }, least: 28_000 },
    { first: { ttl: '2s' }, second: { ttl: '2s', minHold: 2_800 }, least: 2_800 },
  ] as const)(
    'case 16: a caller with %j leaves while its command is under way → the next one has its own lease from the start',
    async ({ first, second, least }) => {
      const client = fixture.client();
      await fixture.connected(client);
      const stop = new AbortController();
      const one = rejection(client.acquire('order', { ...first, wait: '1m', signal: stop.signal }));
      const { from, lock } = await (async () => {
        const acquiring = client.acquire('order', { ...second, wait: '1m' });
        stop.abort();
        return { from: performance.now(), lock: await acquiring };
      })();
      const lease = await fixture.lease('order');
      // Redis tells whole milliseconds, by another clock.
      expect(lease + (performance.now() - from)).toBeGreaterThan(least - 10);
      expect(await one).toMatchObject({ code: 'LOCK_ABORTED' });
      await lock.release();
      await waitFor(async () => fixture.isFree('order'));
      await fixture.expectNothingLeft();
    },
  );

  test('case 16: extended for 1 h just before it goes to the next caller here → that one has its own lease', async () => {
    const client = fixture.client();
    const first = await client.acquire('order', { ttl: '5s' });
    const acquiring = client.acquire('order', { ttl: '5s', wait: '1m' });
    const extended = first.extend('1h').catch((error: unknown) => error);
    expect(await first.release()).toBe('released');
    await extended;
    const lock = await acquiring;
    expect(await fixture.lease('order')).toBeLessThanOrEqual(5_000);
    expect(lock.remaining).toBeLessThanOrEqual(5_000);
    await lock.release();
    await fixture.expectNothingLeft();
  });

  test('case 17: 100 locks whose leases end while others wait for them → the others get them, and no extend brings one back', async () => {
    const [holder, next] = [fixture.client(), fixture.client()];
    const keys = Array.from({ length: 100 }, (_, n) => `order-${n}`);
    const take = async (client: LockClient, options: object): Promise<LockHandle[]> =>
      Promise.all(keys.map(async (key) => client.acquire(key, { wait: '1m', ...options })));
    const old = await take(holder, { ttl: 400, renew: false });
    const theirs = await take(next, { ttl: '1m' });
    for (const lock of old) {
      expect(lock.held).toBe(false);
      expect(await rejection(lock.extend('1h'))).toMatchObject({ code: 'LOCK_LOST' });
      expect(await lock.release()).toBe('lost');
    }
    for (const [n, lock] of theirs.entries()) {
      expect(lock.fencingToken).toBeGreaterThan(old[n]?.fencingToken ?? Infinity);
      expect(await fixture.lease(lock.key)).toBeLessThanOrEqual(60_000);
      expect(await lock.release()).toBe('released');
    }
    await fixture.expectNothingLeft();
  });

  test('case 17: renewals under way when 100 locks are released, again and again → no lock comes back', async () => {
    const client = fixture.client();
    const keys = Array.from({ length: 100 }, (_, n) => `order-${n}`);
    for (let round = 0; round < 5; round++) {
      const locks = await Promise.all(keys.map(async (key) => client.acquire(key, { ttl: '1m' })));
      const extended = locks.map(async (lock) => lock.extend().catch((error: unknown) => error));
      const released = await Promise.all(locks.map(async (lock) => lock.release()));
      await Promise.all(extended);
      expect(new Set(released)).toEqual(new Set(['released']));
      await fixture.expectNothingLeft();
    }
  });

  test('case 20: Redis hangs while 100 locks are released and 100 callers wait for them → all settle within their bounds', async () => {
    const client = fixture.client({ commandTimeout: 300 });
    const names = Array.from({ length: 100 }, (_, n) => `order-${n}`);
    let running = 0;
    let finish = (): void => undefined;
    const told = new Promise<void>((resolve) => (finish = resolve));
    const work = async (): Promise<string> => {
      running++;
      await told;
      return 'done';
    };
    const holding = names.map(async (key) => client.run(key, work, { ttl: '20s' }));
    await waitFor(() => running === 100);
    // Half of them cannot be handed the lock: they are queued by the release.
    const waiting = names.map(async (key, n) =>
      rejection(client.acquire(key, { ttl: n % 2 ? '20s' : '30s', wait: 1_000 })),
    );
    fixture.server.pause();
    await new Promise((resolve) => setTimeout(resolve, 60));
    const { result, ms } = await timed(async () => {
      finish();
      return Promise.all(holding);
    });
    expect(new Set(result)).toEqual(new Set(['done']));
    expect(ms).toBeLessThan(3_000);
    for (const each of waiting) expect(await each).toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    fixture.server.resume();
    await fixture.expectNothingLeft();
  });
});
