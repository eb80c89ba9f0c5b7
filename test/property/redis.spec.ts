import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Redis } from 'ioredis';
import { startRedis, type RedisServer } from '../../scripts/lib/servers.mjs';
import { describeWithRedisServer, newRedis } from '../support/redis.js';
import { locksProperty } from './locks-property.js';
import { RedisWorld } from './redis-world.js';
import { runs, timeoutOf, violation } from './runs.js';

describeWithRedisServer('Random callers of the Redis store', () => {
  let server: RedisServer;
  let redis: Redis;

  beforeAll(async () => {
    server = await startRedis();
    redis = newRedis(server.url);
  });

  afterAll(async () => {
    redis.disconnect();
    await server.stop();
  });

  test(
    'never share a lock, never wait for ever and leave nothing behind',
    async () => {
      expect(
        await violation(
          locksProperty(() => new RedisWorld(server.url, redis)),
          runs(40),
        ),
      ).toBeUndefined();
    },
    timeoutOf(40),
  );
});
