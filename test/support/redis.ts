import { randomBytes } from 'node:crypto';
import { describe } from '@jest/globals';
import { Redis, type RedisOptions } from 'ioredis';
import { findFaketime, findMariadb, findRedisServer, findValkeyServer } from '../../scripts/lib/servers.mjs';

/** The Redis that all tests share; see `uniquePrefix`. A test that harms its server starts one of its own. */
export function sharedRedisUrl(): string {
  const url = process.env.TEST_REDIS_URL;
  if (!url) throw new Error('There is no shared Redis: put the tests in describeWithRedis()');
  return url;
}

/** A prefix that no other test uses. */
export function uniquePrefix(): string {
  return `test-${randomBytes(6).toString('hex')}`;
}

/** A plain client, to look at what is in Redis and to meddle with it. The test closes it. */
export function newRedis(url = sharedRedisUrl(), options: RedisOptions = {}): Redis {
  // Of a server that has ended already, ioredis waits this long for the socket to end.
  return new Redis(url, { disconnectTimeout: 50, ...options });
}

function describeIf(here: boolean, missing: string) {
  return (title: string, tests: () => void): void => {
    if (here) describe(title, tests);
    else describe.skip(`${title} (did not run: no ${missing})`, tests);
  };
}

/** A `describe` whose tests use the shared Redis. */
export const describeWithRedis = describeIf(Boolean(process.env.TEST_REDIS_URL), 'redis-server and no REDIS_URL');

/** A `describe` whose tests start private Redis servers. */
export const describeWithRedisServer = describeIf(findRedisServer() !== undefined, 'redis-server');

/** A `describe` whose tests start a private MariaDB. */
export const describeWithMariadb = describeIf(findMariadb() !== undefined, 'mariadbd');

/** A `describe` whose tests start private Valkey servers. */
export const describeWithValkey = describeIf(findValkeyServer() !== undefined, 'valkey-server');

/** A `describe` whose tests start private Redis servers with a wrong clock. */
export const describeWithFaketime = describeIf(
  findFaketime() !== undefined && Boolean(findRedisServer()?.endsWith('redis-server')),
  'libfaketime and redis-server',
);
