import { createRequire } from 'node:module';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { MemoryLockStore, type LockStore } from 'nestjs-redis-lock';
import { storeContract } from 'nestjs-redis-lock/testing';
import { NO_INBOX, type GrantInbox, type GrantListener } from '../libs/redis-lock/src/stores/lock-store.js';
import { RedisLockStore } from '../libs/redis-lock/src/stores/redis/redis.store.js';
import { Store } from './store-contract/store.js';
import { findValkeyServer, startRedis, type RedisServer } from '../scripts/lib/servers.mjs';
import { describeWithRedis, describeWithValkey, sharedRedisUrl, uniquePrefix } from './support/redis.js';

function testContract(open: () => LockStore): void {
  const checks = storeContract(async () => {
    const store = open();
    return { store, close: async () => store.close() };
  });
  test.each(checks)('$name', async (check) => {
    await expect(check.run()).resolves.toBeUndefined();
  });
}

describe('The contract on the memory store', () => {
  testContract(() => new MemoryLockStore());
});

function redisStore(connection: string): LockStore {
  return new RedisLockStore({
    connection,
    prefix: uniquePrefix(),
    commandTimeoutMs: 10_000,
    logger: { warn: () => {} },
  });
}

describeWithRedis('The contract on the Redis store with ioredis 5', () => {
  test('it is ioredis 5', () => {
    expect(createRequire(import.meta.url)('ioredis/package.json').version).toMatch(/^5\./);
  });

  testContract(() => redisStore(sharedRedisUrl()));
});

describeWithValkey('The contract on the Redis store with Valkey', () => {
  let valkey: RedisServer;
  beforeAll(async () => {
    valkey = await startRedis({ program: findValkeyServer() });
  });
  afterAll(async () => valkey.stop());

  testContract(() => redisStore(valkey.url));
});

describe('The contract on a store that cannot tell anybody anything', () => {
  class WithoutInbox extends Store {
    override grants(): GrantInbox {
      return NO_INBOX;
    }
  }

  testContract(() => new WithoutInbox());
});

describe('The contract on a store that refuses to open an inbox', () => {
  class RefusesInboxes extends Store {
    override grants(_: string, listener: GrantListener): GrantInbox {
      let usable = true;
      return {
        ...NO_INBOX,
        get usable() {
          return usable;
        },
        open: () => {
          setImmediate(() => {
            usable = false;
            listener.refused();
          });
        },
      };
    }
  }

  testContract(() => new RefusesInboxes());
});
