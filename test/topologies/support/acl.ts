import { readFileSync } from 'node:fs';
import { Redis } from 'ioredis';
import type { RedisServer } from '../../../scripts/lib/servers.mjs';

/** The rights that the README lists for a user of Redis, for another prefix than `lock`. */
export function documentedRights(prefix: string): string[] {
  const readme = readFileSync(new URL('../../../README.md', import.meta.url), 'utf8');
  const [, rights = ''] = /ACL SETUSER locks on >password ~lock:\* &lock:\* (.*)/.exec(readme) ?? [];
  return [`~${prefix}:*`, `&${prefix}:*`, ...rights.split(' ')];
}

/** Makes a user with the password `secret` on some servers. */
export async function makeUser(
  servers: readonly RedisServer[],
  name: string,
  rights: readonly string[],
): Promise<void> {
  await Promise.all(
    servers.map(async ({ url }) => {
      const redis = new Redis(url);
      await redis.call('ACL', 'SETUSER', name, 'reset', 'on', '>secret', ...rights);
      await redis.call('ACL', 'LOG', 'RESET');
      redis.disconnect();
    }),
  );
}

/** What was refused to whom, on some servers. */
export async function refusals(servers: readonly RedisServer[]): Promise<unknown[]> {
  const logs = await Promise.all(
    servers.map(async ({ url }) => {
      const redis = new Redis(url);
      const log = (await redis.call('ACL', 'LOG')) as unknown[];
      redis.disconnect();
      return log;
    }),
  );
  return logs.flat();
}
