import type { RenewReply } from '../../lock-store.js';
import { defineScript } from '../script.js';
import { CLOCK, UNTIL_FIELD } from './shared.js';

/**
 * Extends a lease that is still owned. It never shortens one and never revives one. The first one confirms a grant: a
 * grant is promised until it is void and no longer, and that promise is not shortened either. It names the lock key
 * only, so that it goes through while a slot of a Cluster moves.
 *
 * KEYS  1 lock (hash)
 * ARGV  1 owner (\`<member>/<token>\`), 2 lease in ms, 3 anything: it is written even if it does not change, so that
 *       replicas can be waited for
 * Answer: the lease now in ms, or -1 when the owner is gone
 */
export const renewScript = defineScript<readonly [owner: string, leaseMs: number, write?: 'write'], number, RenewReply>(
  /* lua */ `${CLOCK}
local fields = redis.call('HMGET', KEYS[1], ARGV[1], '${UNTIL_FIELD}')
if not fields[1] then return -1 end
local lease = tonumber(ARGV[2])
local left = redis.call('PTTL', KEYS[1])
if fields[2] then
  left = math.ceil(fields[2] - now / 1000)
  if left <= 0 then return -1 end
  redis.call('HDEL', KEYS[1], '${UNTIL_FIELD}')
  lease = math.max(lease, left)
elseif left >= lease then
  if not ARGV[3] then return left end
  lease = left
end
redis.call('HSET', KEYS[1], ARGV[1], text(math.floor(now / 1000) + lease))
redis.call('PEXPIRE', KEYS[1], lease)
return lease
`,
  (remainingMs) => (remainingMs < 0 ? { status: 'gone' } : { status: 'renewed', remainingMs }),
);
