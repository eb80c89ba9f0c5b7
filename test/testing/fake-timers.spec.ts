import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import {
  createLockClient,
  LockArgumentError,
  LockLostError,
  LockTimeoutError,
  MemoryLockStore,
  type LockClient,
} from 'nestjs-redis-lock';
import { makeBusy, makeLost } from 'nestjs-redis-lock/testing';
import { waitFor } from '../support/wait-for.js';

// Everything that Jest fakes by default: Date, performance, timers, setImmediate, nextTick, queueMicrotask.
describe("A client on the memory store, under Jest's fake timers", () => {
  let store: MemoryLockStore;
  let locks: LockClient;
  let warnings: string[];

  beforeEach(() => {
    jest.useFakeTimers();
    warnings = [];
    store = new MemoryLockStore();
    locks = client();
  });

  afterEach(async () => {
    await locks.close();
    await store.close();
    jest.useRealTimers();
  });

  function client(): LockClient {
    return createLockClient({
      store,
      shutdown: { drain: '1s' },
      logger: { warn: (message) => warnings.push(message) },
    });
  }

  /** How a promise ended, as soon as it has. */
  function outcomeOf(promise: Promise<unknown>): { settled: unknown } {
    const outcome = { settled: undefined as unknown };
    promise.then(
      (value) => (outcome.settled = value),
      (error: unknown) => (outcome.settled = error),
    );
    return outcome;
  }

  test('acquire and release need no clock', async () => {
    const lock = await locks.acquire('order');
    expect(await locks.tryAcquire('order')).toBeNull();
    expect(await lock.release()).toBe('released');
    expect(await locks.run('order', () => 'done')).toBe('done');
    expect(await locks.isLocked('order')).toBe(false);
  });

  test('a lease that nobody renews ends when the clock is advanced: the signal aborts, the lock is free', async () => {
    const lock = await locks.acquire('order', { ttl: '10s', renew: false });
    const { signal } = lock;
    await jest.advanceTimersByTimeAsync(9_000);
    expect([signal.aborted, lock.held]).toEqual([false, true]);
    await jest.advanceTimersByTimeAsync(1_001);
    expect(signal.reason).toBeInstanceOf(LockLostError);
    expect(lock.lost).toMatchObject({ reason: 'expired' });
    expect(await lock.release()).toBe('lost');
    expect(await locks.isLocked('order')).toBe(false);
  });

  test('advanceTimersByTime without Async notices it as well', async () => {
    const { signal } = await locks.acquire('order', { ttl: '10s', renew: false });
    jest.advanceTimersByTime(10_001);
    expect(signal.aborted).toBe(true);
  });

  test('the watchdog renews, however far the clock is advanced', async () => {
    const lock = await locks.acquire('order', { ttl: '10s' });
    await jest.advanceTimersByTimeAsync(3_600_000);
    expect(lock.held).toBe(true);
    expect(lock.remaining).toBeGreaterThan(6_000);
    expect(await locks.isLocked('order')).toBe(true);
    expect(await lock.release()).toBe('released');
  });

  test('maxHold ends a lock', async () => {
    const lock = await locks.acquire('order', { maxHold: '1m' });
    await jest.advanceTimersByTimeAsync(60_001);
    expect(lock.lost).toMatchObject({ reason: 'maxHold' });
  });

  test.each(['this process', 'another one'])('a waiter times out at its wait when %s holds it', async (who) => {
    const holder = who === 'this process' ? locks : client();
    const lock = await holder.acquire('order');
    const waiting = outcomeOf(locks.acquire('order', { wait: '5s' }));
    await jest.advanceTimersByTimeAsync(4_999);
    expect(waiting.settled).toBeUndefined();
    await jest.advanceTimersByTimeAsync(10);
    expect(waiting.settled).toBeInstanceOf(LockTimeoutError);
    await lock.release();
  });

  test('a waiter is granted the lock when a caller of its process releases it, without the clock', async () => {
    const lock = await locks.acquire('order');
    const waiting = locks.run('order', () => 'mine');
    await lock.release();
    expect(await waiting).toBe('mine');
  });

  test('a waiter is told when somebody else releases the lock', async () => {
    const busy = await makeBusy(locks, 'order');
    const waiting = outcomeOf(locks.run('order', () => 'mine', { wait: '1m' }));
    await jest.advanceTimersByTimeAsync(100);
    await busy.release();
    expect(waiting.settled).toBeUndefined();
    await jest.advanceTimersByTimeAsync(1);
    expect(waiting.settled).toBe('mine');
  });

  test('a waiter gets a lock whose lease has ended', async () => {
    await client().acquire('order', { ttl: '10s', renew: false });
    const waiting = outcomeOf(locks.run('order', () => 'mine', { wait: '1m' }));
    await jest.advanceTimersByTimeAsync(10_100);
    expect(waiting.settled).toBe('mine');
  });

  test('what makeBusy holds stays busy as long as it is wanted, and nothing is warned of', async () => {
    const busy = await makeBusy(locks, 'order');
    await jest.advanceTimersByTimeAsync(300_000);
    expect(await locks.tryAcquire('order')).toBeNull();
    await busy.release();
    expect(warnings).toEqual([]);
  });

  test('makeLost needs no clock', async () => {
    const lock = await locks.acquire('order');
    const { signal } = lock;
    await makeLost(locks, 'order');
    expect(signal.reason).toMatchObject({ reason: 'taken' });
  });

  test('makeLost finds nothing to lose where the lease has ended and no timer has noticed', async () => {
    const lock = await locks.acquire('order', { ttl: '10s', renew: false });
    jest.setSystemTime(Date.now() + 11_000);
    await expect(makeLost(locks, 'order')).rejects.toBeInstanceOf(LockArgumentError);
    expect(lock.lost).toMatchObject({ reason: 'expired' });
  });

  test('close settles: at once when nothing is held, and after the drain when something is', async () => {
    await client().close();
    const lock = await locks.acquire('order');
    const closing = outcomeOf(locks.close().then(() => 'closed'));
    await jest.advanceTimersByTimeAsync(999);
    expect(closing.settled).toBeUndefined();
    await jest.advanceTimersByTimeAsync(2);
    expect(closing.settled).toBe('closed');
    expect(lock.lost).toMatchObject({ reason: 'shutdown' });
  });

  test('a closed client leaves no timer', async () => {
    const lock = await locks.acquire('order');
    const waiting = outcomeOf(client().acquire('order', { wait: '1s' }));
    await jest.advanceTimersByTimeAsync(1_100);
    expect(waiting.settled).toBeInstanceOf(LockTimeoutError);
    await lock.release();
    await locks.close();
    await jest.advanceTimersByTimeAsync(10_000);
    expect(jest.getTimerCount()).toBe(0);
  });

  describe('that was made and used with another clock', () => {
    async function useAll(): Promise<void> {
      const lock = await locks.acquire('order', { ttl: '1s', wait: '1s' });
      await lock.release();
    }

    test('the real one before → its waiters time out and its leases are renewed when the clock is advanced', async () => {
      jest.useRealTimers();
      await useAll();
      jest.useFakeTimers();
      const lock = await locks.acquire('order', { ttl: '1s' });
      const waiting = outcomeOf(locks.acquire('order', { wait: '1s' }));
      await jest.advanceTimersByTimeAsync(1_010);
      expect(waiting.settled).toBeInstanceOf(LockTimeoutError);
      await jest.advanceTimersByTimeAsync(10_000);
      expect(lock.held).toBe(true);
      await lock.release();
    });

    test('the fake one before → the same when real time passes', async () => {
      await useAll();
      jest.useRealTimers();
      const lock = await locks.acquire('order', { ttl: '3s' });
      const waiting = outcomeOf(locks.acquire('order', { wait: '1s' }));
      await waitFor(() => waiting.settled);
      expect(waiting.settled).toBeInstanceOf(LockTimeoutError);
      for (let renewals = 0; renewals < 3; renewals++) {
        let last = Infinity;
        await waitFor(() => {
          const before = last;
          last = lock.remaining;
          return last > before;
        });
      }
      expect(lock.held).toBe(true);
      await lock.release();
    });

    test('another fake one before → the same when this one is advanced', async () => {
      await useAll();
      jest.useFakeTimers();
      const lock = await locks.acquire('order', { ttl: '1s' });
      const waiting = outcomeOf(locks.acquire('order', { wait: '1s' }));
      await jest.advanceTimersByTimeAsync(2_000);
      expect(waiting.settled).toBeInstanceOf(LockTimeoutError);
      expect(lock.held).toBe(true);
      await lock.release();
    });
  });
});
