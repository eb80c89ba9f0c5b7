import type { RenewReply } from '../../lock-store.js';
import { defineScript } from '../script.js';
import { CLOCK } from './shared.js';
import { NAME } from './shares.js';

/**
 * Extends the lease of a holder of a lock with shares, as renew does. It names one key only, so that it goes through
 * while a slot of a Cluster moves.
 *
 * KEYS  1 holders (zset)
 * ARGV  1 owner (\`<member>/<token>\`), 2 its permits, 3 lease in ms, 4 anything: it is written even if it does not
 *       change
 * Answer: the lease now in ms, or -1 when it is no holder
 */
export const shareRenewScript = defineScript<
  readonly [owner: string, permits: number, leaseMs: number, write?: 'write'],
  number,
  RenewReply
>(
  /* lua */ `${CLOCK}${NAME}
local name, expiry = find(ARGV[1], ARGV[2])
local left = expiry and math.ceil(expiry - now / 1000) or 0
if left <= 0 then return -1 end
local lease = tonumber(ARGV[3])
if left >= lease then
  if not ARGV[4] and not string.find(expiry, '.', 1, true) then return left end
  lease = left
end
redis.call('ZADD', KEYS[1], text(math.floor(now / 1000) + lease), name)
if redis.call('PTTL', KEYS[1]) < lease then redis.call('PEXPIRE', KEYS[1], lease) end
return lease
`,
  (remainingMs) => (remainingMs < 0 ? { status: 'gone' } : { status: 'renewed', remainingMs }),
);
