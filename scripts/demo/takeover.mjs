import { fileURLToPath } from 'node:url';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { createLockClient } from 'nestjs-redis-lock';
import { Child } from './child.mjs';

const holderScript = fileURLToPath(new URL('lock-holder.mjs', import.meta.url));
const key = 'takeover';
const ttl = 3_000;
/** The holder is killed at most this long after a renewal, in ms. */
const killWithin = 100;

/**
 * A process that holds a lock is killed right after a renewal, so that its whole lease lies ahead: the longest time
 * that a crash can cost. Somebody else waits for the lock already.
 *
 * @param {{ redisUrl: string, prefix: string, cleanup: import('../lib/cleanup.mjs').Cleanup }} where
 * @returns {Promise<{ ms: number, ttl: number }>} how long the next one waited after the kill
 */
export async function measureTakeover({ redisUrl, prefix, cleanup }) {
  const env = { REDIS_URL: redisUrl, LOCK_PREFIX: prefix, LOCK_KEY: key, LOCK_TTL: String(ttl) };
  const holder = new Child(holderScript, env, cleanup);
  await holder.printed(/held/);
  const locks = createLockClient({ connection: redisUrl, prefix });
  cleanup.add(() => locks.close());
  const next = locks.acquire(key, { ttl, wait: 10 * ttl });
  next.catch(() => {}); // it is awaited below
  await untilRenewed(redisUrl, `${prefix}:{${key}}`);
  const killed = performance.now();
  holder.kill();
  const lock = await next;
  const ms = Math.round(performance.now() - killed);
  await lock.release();
  return { ms, ttl };
}

/**
 * Returns right after a renewal: that is when the remaining lease goes up.
 *
 * @param {string} redisUrl
 * @param {string} redisKey
 */
async function untilRenewed(redisUrl, redisKey) {
  const redis = new Redis(redisUrl);
  try {
    for (let before = Infinity; ; await sleep(5)) {
      const left = await redis.pttl(redisKey);
      if (left < 0) throw new Error('The lock of the takeover was lost before its holder was killed');
      if (left > before && ttl - left <= killWithin / 2) return;
      before = left;
    }
  } finally {
    redis.disconnect();
  }
}
