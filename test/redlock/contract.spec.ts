import { describe, expect, test } from '@jest/globals';
import { storeContract } from 'nestjs-redis-lock/testing';
import { RedlockLockStore } from '../../libs/redis-lock/src/stores/redlock/redlock.store.js';
import { describeWithRedisServer, uniquePrefix } from '../support/redis.js';
import { RedlockServers } from './support/servers.js';

describeWithRedisServer('The contract on the Redlock store', () => {
  describe.each([
    [3, true],
    [5, true],
    [5, false],
  ])('with %d nodes, fencing: %p', (count, fencing) => {
    const servers = RedlockServers.use(count);
    const checks = storeContract(async () => {
      const store = new RedlockLockStore({
        nodes: servers.urls,
        prefix: uniquePrefix(),
        nodeTimeoutMs: 1_000,
        commandTimeoutMs: 10_000,
        fencing,
        logger: { warn: () => {} },
      });
      return { store, close: async () => store.close() };
    });
    test.each(checks)('$name', async (check) => {
      await expect(check.run()).resolves.toBeUndefined();
    });
  });
});
