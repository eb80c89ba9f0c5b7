import { RESERVED_TOKENS } from '../../lock-store.js';
import { defineScript } from '../../redis/script.js';
import { HOLDER } from './shared.js';

/**
 * Writes the token that was agreed upon to a node where the member owns the lock, and moves the fence behind it.
 *
 * KEYS  1 lock (hash), 2 queue (zset), 3 fence (string)
 * ARGV  1 member, 2 token
 * Answer: what is left of the lease in ms, or -1 when the member does not own the lock
 */
export const tokenScript = defineScript<readonly [member: string, token: number], number, number>(
  /* lua */ `${HOLDER}
local field = redis.call('HKEYS', KEYS[1])[1]
local owner, token = split(field or '')
if owner ~= ARGV[1] then return -1 end
local expiry = string.gsub(redis.call('HGET', KEYS[1], field), '^-', '')
redis.call('HSET', KEYS[1], owner .. '/' .. ARGV[2], expiry)
if token ~= ARGV[2] then redis.call('HDEL', KEYS[1], field) end
local reserved = ARGV[2] + ${RESERVED_TOKENS}
if tonumber(redis.call('GET', KEYS[3]) or 0) < reserved then
  redis.call('SET', KEYS[3], string.format('%.0f', reserved))
end
return redis.call('PTTL', KEYS[1])
`,
  (remainingMs) => remainingMs,
);
