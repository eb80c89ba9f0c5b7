import { defineScript } from '../script.js';
import { CLOCK, HOLD_OF } from './shared.js';

export type AcquireScriptReply =
  | [status: 'acquired', token: string, remainingMs: number]
  | [status: 'held', field: string, remainingMs: number]
  /** It came later than it was allowed to run; nothing was done. */
  | [status: 'late', serverTimeUs: string];

/**
 * Makes a member the owner of a free lock and mints its fencing token: max(server clock in µs, highest token + 1), so
 * that it grows even after the counter was lost. The owner itself gets its token again.
 *
 * KEYS  1 lock (hash), 2 fence (string)
 * ARGV  1 member, 2 lease in ms, 3 latest server time in µs at which it may run
 * Answer: see AcquireScriptReply
 */
export const acquireScript = defineScript<[member: string, leaseMs: number, notAfterUs: number], AcquireScriptReply>(
  'acquire',
  2,
  /* lua */ `${CLOCK}${HOLD_OF}
if now > tonumber(ARGV[3]) then return {'late', text(now)} end
local _, ownToken = holdOf(ARGV[1])
if ownToken then return {'acquired', ownToken, redis.call('PTTL', KEYS[1])} end
local holder = redis.call('HKEYS', KEYS[1])[1]
if holder then return {'held', holder, redis.call('PTTL', KEYS[1])} end
local lease = tonumber(ARGV[2])
local token = text(math.max(now, tonumber(redis.call('GET', KEYS[2]) or 0) + 1))
redis.call('SET', KEYS[2], token)
redis.call('HSET', KEYS[1], ARGV[1] .. '/' .. token, text(math.floor(now / 1000) + lease))
redis.call('PEXPIRE', KEYS[1], lease)
return {'acquired', token, lease}
`,
);
