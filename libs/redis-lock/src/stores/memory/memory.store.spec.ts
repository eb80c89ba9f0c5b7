import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { GRANT_CONFIRM_MS, POLL_CAP_MS, type Grant, type GrantInbox } from '../lock-store.js';
import { MemoryLockStore } from './memory.store.js';

// What every store does is in the contract of nestjs-redis-lock/testing.
describe('MemoryLockStore', () => {
  let store: MemoryLockStore;
  let inbox: GrantInbox;
  const told: Grant[] = [];
  const key = 'order';

  beforeEach(() => {
    jest.useFakeTimers();
    told.length = 0;
    store = new MemoryLockStore();
    const ignore = (): void => undefined;
    inbox = store.grants('one', { granted: (grant) => told.push(grant), opened: ignore, refused: ignore });
    inbox.open();
    jest.runOnlyPendingTimers();
  });

  afterEach(async () => {
    await store.close();
    jest.useRealTimers();
  });

  const acquire = async (member: string, queue?: object): ReturnType<MemoryLockStore['acquire']> =>
    store.acquire({ key, member, leaseMs: 60_000, withinMs: 1_000, ...(queue && { queue }) });
  const release = async (member: string): Promise<string> =>
    (await store.release({ key, member, minHoldMs: 0 })).status;

  test('a queue that nobody asks for is gone after five times the longest pause between two polls', async () => {
    await acquire('holder');
    await acquire('one#1', {});
    const almost = 5 * POLL_CAP_MS - 1;
    jest.advanceTimersByTime(almost);
    expect(await acquire('one#1', {})).toMatchObject({ queued: 1, place: { rejoined: false } });
    jest.advanceTimersByTime(almost);
    expect(await acquire('passing')).toMatchObject({ queued: 1 });
    jest.advanceTimersByTime(1);
    expect(await store.inspect(key)).toMatchObject({ holder: 'holder', queued: 0 });
  });

  test('nothing is left when a key is free and nobody waits', async () => {
    await acquire('holder');
    await acquire('one#1', {});
    await acquire('one#2', {});
    expect(await release('one#2')).toBe('lost');
    expect(await release('holder')).toBe('released');
    expect(await release('one#1')).toBe('released');
    jest.advanceTimersToNextTimer();
    expect(told).toHaveLength(1);
    expect(jest.getTimerCount()).toBe(0);
  });

  test('nothing is left of a grant that nobody confirmed, whether or not anybody asks', async () => {
    await acquire('holder');
    await acquire('one#1', {});
    await acquire('one#2', {});
    await release('holder');
    jest.advanceTimersByTime(GRANT_CONFIRM_MS + 1);
    expect(jest.getTimerCount()).toBe(0);
  });

  test('nothing is left of what is held and of who waits when the store is closed', async () => {
    await acquire('holder');
    await acquire('one#1', {});
    await store.close();
    expect(jest.getTimerCount()).toBe(0);
    expect(await store.inspect(key)).toEqual({ status: 'free' });
  });

  test('a lease that ends grants nothing by itself', async () => {
    await store.acquire({ key, member: 'holder', leaseMs: 100, withinMs: 1_000 });
    await acquire('one#1', {});
    jest.advanceTimersByTime(1_000);
    expect(told).toEqual([]);
    expect(await store.inspect(key)).toEqual({ status: 'free' });
  });

  test('a grant is told after the call, and to an inbox that is still open', async () => {
    await acquire('holder');
    await acquire('one#1', {});
    await release('holder');
    expect(told).toEqual([]);
    jest.advanceTimersByTime(0);
    expect(told).toMatchObject([{ key, member: 'one#1' }]);

    await acquire('one#2', {});
    await release('one#1');
    await inbox.close();
    jest.advanceTimersByTime(0);
    expect(told).toHaveLength(1);
  });
});
