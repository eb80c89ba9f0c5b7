import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { createLockClient, MemoryLockStore, type RenewCommand, type RenewReply } from '../index.js';

/** Counts what it is asked to renew, and answers after a while. */
class SlowStore extends MemoryLockStore {
  readonly renewals: number[] = [];

  constructor(private readonly answersAfterMs: number) {
    super();
  }

  override renew(commands: readonly RenewCommand[]): Promise<RenewReply>[] {
    this.renewals.push(commands.length);
    return super.renew(commands).map(async (reply) => {
      await new Promise((resolve) => setTimeout(resolve, this.answersAfterMs));
      return reply;
    });
  }
}

describe('Watchdog', () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  test.each(['30s', '1h'] as const)(
    '1,200 locks for %s are renewed once in each third of it, some at a time',
    async (ttl) => {
      const store = new SlowStore(100);
      const client = createLockClient({ store });
      const failed = jest.fn();
      client.events.on('renewalFailed', failed);
      const keys = Array.from({ length: 1_200 }, (_, n) => `order-${n}`);
      const locks = await Promise.all(keys.map(async (key) => client.acquire(key, { ttl, maxHold: '2h' })));
      const third = ttl === '30s' ? 10_000 : 1_200_000;
      for (const round of [1, 2, 3]) {
        await jest.advanceTimersByTimeAsync(third + 1_000);
        expect(store.renewals).toEqual(Array.from({ length: round }, () => [500, 500, 200]).flat());
      }
      expect(failed).not.toHaveBeenCalled();
      expect(locks.every((lock) => lock.held)).toBe(true);
      await Promise.all(locks.map(async (lock) => lock.release()));
      await client.close();
    },
  );

  test('a renewal that is not answered is sent again after a second, and said once', async () => {
    const store = new SlowStore(1_000_000);
    const client = createLockClient({ store });
    const failed = jest.fn();
    client.events.on('renewalFailed', failed);
    const lock = await client.acquire('order', { ttl: '1h' });
    await jest.advanceTimersByTimeAsync(1_200_000 + 5_500);
    expect(store.renewals).toEqual([1, 1, 1, 1, 1, 1]);
    expect(failed).toHaveBeenCalledTimes(1);
    await lock.release();
    await client.close();
  });
});
