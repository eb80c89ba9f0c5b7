import { monitorEventLoopDelay } from 'node:perf_hooks';
import { expect, test } from '@jest/globals';
import { LockBusyError, LockTimeoutError } from 'nestjs-redis-lock';
import { describeWithRedisServer } from '../support/redis.js';
import { waitFor } from '../support/wait-for.js';
import { LockFixture, rejection, timed } from './support/lock-fixture.js';

describeWithRedisServer('Obtaining: how long it takes, and what is got then', () => {
  const fixture = LockFixture.use();

  test('case 3: wait 0 on a free key → one command, and the lock', async () => {
    const client = fixture.client();
    const log = await fixture.commandLog();
    const lock = await client.acquire('order', { wait: 0 });
    expect(await log.scripts()).toEqual(['acquire']);
    await lock.release();
    await fixture.expectNothingLeft();
  });

  test('case 3: wait 0 on a key that another process holds → one command, and busy', async () => {
    const [holder, client] = [fixture.client(), fixture.client()];
    const lock = await holder.acquire('order', { ttl: '1m' });
    const log = await fixture.commandLog();

    const error = await rejection(client.acquire('order', { wait: 0 }));
    expect(error).toBeInstanceOf(LockBusyError);
    expect(error).toMatchObject({ code: 'LOCK_BUSY', key: 'order' });
    expect(await log.scripts()).toEqual(['acquire']);

    expect(await client.tryAcquire('order')).toBeNull();
    expect(await client.tryRun('order', () => 'never')).toEqual({ ran: false, reason: 'busy' });
    expect(await log.scripts()).toEqual(['acquire', 'acquire', 'acquire']);
    await lock.release();
    await fixture.expectNothingLeft();
  });

  test('case 3: wait 0 on a key that the own process holds → no command, and busy', async () => {
    const client = fixture.client();
    const lock = await client.acquire('order', { ttl: '1m' });
    const log = await fixture.commandLog();
    expect(await rejection(client.acquire('order', { wait: 0 }))).toBeInstanceOf(LockBusyError);
    expect(await log.scripts()).toEqual([]);
    await lock.release();
    await fixture.expectNothingLeft();
  });

  test('case 3: wait 100 on a held key, 200 times → over within 100 ms and a round trip each time', async () => {
    const [holder, client] = [fixture.client(), fixture.client()];
    const keys = ['a', 'b', 'c', 'd'];
    const locks = await Promise.all(keys.map(async (key) => holder.acquire(key, { ttl: '5m' })));
    const stalls = monitorEventLoopDelay();
    stalls.enable();

    // Four rows of fifty, side by side, so that it takes five seconds and not twenty.
    const rows = await Promise.all(
      keys.map(async (key) => {
        const row: { result: unknown; ms: number }[] = [];
        while (row.length < 50) row.push(await timed(async () => rejection(client.acquire(key, { wait: 100 }))));
        return row;
      }),
    );

    const all = rows.flat();
    expect(all).toHaveLength(200);
    // On a busy machine it may be Redis that is not heard in time, now and then.
    expect(all.filter(({ result }) => result instanceof LockTimeoutError).length).toBeGreaterThan(190);
    const times = all.map(({ ms }) => ms).sort((a, b) => a - b);
    // A timer of Node may fire a millisecond early; a busy machine may be late now and then, but not half of the time.
    expect(times[0]).toBeGreaterThan(95);
    expect(times[100]).toBeLessThan(150);
    // What the whole process was stopped for is not ours.
    expect(times[199]).toBeLessThan(1_000 + stalls.max / 1e6);
    stalls.disable();
    await Promise.all(locks.map(async (lock) => lock.release()));
    await fixture.expectNothingLeft();
  });

  test('case 5: obtained after a wait longer than its lease → the whole lease is ahead, here and in Redis', async () => {
    const [holder, client] = [fixture.client(), fixture.client()];
    const first = await holder.acquire('order', { ttl: '1m' });
    const acquired = await untilItWaited(client.acquire('order', { ttl: 1_500, wait: '1m' }), 1_800, () =>
      first.release(),
    );

    expect(acquired.waitedMs).toBeGreaterThan(1_800);
    expect(acquired.lock.remaining).toBeGreaterThan(750);
    expect(await fixture.lease('order')).toBeGreaterThan(750);
    expect(await acquired.lock.release()).toBe('released');
  });

  test('case 5: obtained after a long wait behind a caller of the same process → the whole lease is ahead', async () => {
    const client = fixture.client();
    const first = await client.acquire('order', { ttl: '1m' });
    const acquired = await untilItWaited(client.acquire('order', { ttl: 1_500, wait: '1m' }), 1_800, () =>
      first.release(),
    );

    expect(acquired.lock.remaining).toBeGreaterThan(750);
    expect(await fixture.lease('order')).toBeGreaterThan(750);
    expect(await acquired.lock.release()).toBe('released');
  });

  /** The scenario itself: somebody waits so long, and only then what it waits for happens. */
  async function untilItWaited<T>(
    acquiring: Promise<T>,
    ms: number,
    makeFree: () => Promise<unknown>,
  ): Promise<{ lock: T; waitedMs: number }> {
    const started = performance.now();
    await waitFor(() => performance.now() - started > ms);
    await makeFree();
    const lock = await acquiring;
    return { lock, waitedMs: performance.now() - started };
  }
});
