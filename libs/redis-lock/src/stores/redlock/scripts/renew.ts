import { defineScript } from '../../redis/script.js';
import { CLOCK } from '../../redis/scripts/shared.js';

/**
 * Extends a lease that is still owned on this node. It never shortens one and never revives one.
 *
 * KEYS  1 lock (hash)
 * ARGV  1 owner (\`<member>/<token>\`), 2 lease in ms
 * Answer: the lease now in ms, or -1 when the owner is gone
 */
export const renewScript = defineScript<readonly [owner: string, leaseMs: number], number, number>(
  /* lua */ `${CLOCK}
if not redis.call('HGET', KEYS[1], ARGV[1]) then return -1 end
local left = redis.call('PTTL', KEYS[1])
if left >= tonumber(ARGV[2]) then return left end
redis.call('HSET', KEYS[1], ARGV[1], text(math.floor(now / 1000) + ARGV[2]))
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return tonumber(ARGV[2])
`,
  (remainingMs) => remainingMs,
);
