import { defineScript } from '../script.js';
import { CLOCK } from './shared.js';

/**
 * Extends a lease that is still owned. It never shortens one and never revives one. It names the lock key only, so that
 * it goes through while a slot of a Cluster moves.
 *
 * KEYS  1 lock (hash)
 * ARGV  1 owner (\`<member>/<token>\`), 2 lease in ms
 * Answer: the lease now in ms, or -1 when the owner is gone
 */
export const renewScript = defineScript<[owner: string, leaseMs: number], number>(
  'renew',
  1,
  /* lua */ `${CLOCK}
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then return -1 end
local lease = tonumber(ARGV[2])
local left = redis.call('PTTL', KEYS[1])
if left >= lease then return left end
redis.call('HSET', KEYS[1], ARGV[1], text(math.floor(now / 1000) + lease))
redis.call('PEXPIRE', KEYS[1], lease)
return lease
`,
);
