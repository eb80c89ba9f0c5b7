import { readFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { bench } from './options.mjs';

/**
 * What the figures were measured on and with.
 *
 * @param {string} url
 * @returns {Promise<Record<string, string>>}
 */
export async function machineOf(url) {
  const redis = new Redis(url);
  const info = await redis.info('server');
  redis.disconnect();
  const { dependencies } = JSON.parse(readFileSync(join(bench, 'package.json'), 'utf8'));
  const [cpu] = cpus();
  return {
    node: process.versions.node,
    'redis-server': /^redis_version:(\S+)/m.exec(info)?.[1] ?? '?',
    cpu: `${cpus().length} × ${cpu?.model.trim() ?? '?'}`,
    ...dependencies,
  };
}
