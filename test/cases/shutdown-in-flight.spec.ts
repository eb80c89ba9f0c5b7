import { expect, test } from '@jest/globals';
import { createLockClient, LockShutdownError } from 'nestjs-redis-lock';
import { describeWithRedis, sharedRedisUrl, uniquePrefix } from '../support/redis.js';

describeWithRedis('A client that closes while a command is in flight', () => {
  test('gives back what the command takes all the same', async () => {
    const options = { connection: sharedRedisUrl(), prefix: uniquePrefix() };
    const closing = createLockClient(options);
    const other = createLockClient(options);
    try {
      expect(await closing.isLocked('ready')).toBe(false);
      const acquisitions = ['a', 'b', 'c'].map(async (key) => closing.acquire(key));
      const refused = Promise.allSettled(acquisitions);
      await closing.close();
      for (const result of await refused) {
        expect(result).toMatchObject({ status: 'rejected', reason: expect.any(LockShutdownError) });
      }
      for (const key of ['a', 'b', 'c']) expect(await other.isLocked(key)).toBe(false);
    } finally {
      await closing.close();
      await other.close();
    }
  });
});
