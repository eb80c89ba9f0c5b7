import { defineScript } from '../script.js';
import { CLOCK, HOLD_OF, REST_FIELD } from './shared.js';

/**
 * Ends the hold of a member, or closes the key until its minHold is over. It is also *leave*: with an empty token it
 * gives back whatever the member has. Another's hold is never touched.
 *
 * KEYS  1 lock (hash)
 * ARGV  1 member, 2 token or '' for any, 3 minHold in ms from the acquisition, which was at token / 1000,
 *       or earlier where the counter is ahead of the clock
 * Answer: 'released', 'kept', or 'lost' when the member did not own it
 */
export const releaseScript = defineScript<
  [member: string, token: string, minHoldMs: number],
  'released' | 'kept' | 'lost'
>(
  'release',
  1,
  /* lua */ `${CLOCK}${HOLD_OF}
local field, token = holdOf(ARGV[1])
if not field or (ARGV[2] ~= '' and ARGV[2] ~= token) then return 'lost' end
local minHold = tonumber(ARGV[3])
local rest = math.min(minHold, math.ceil(tonumber(token) / 1000 + minHold - now / 1000))
local left = redis.call('PTTL', KEYS[1])
if left >= 0 then rest = math.min(rest, left) end
if rest <= 0 then
  redis.call('DEL', KEYS[1])
  return 'released'
end
redis.call('HDEL', KEYS[1], field)
redis.call('HSET', KEYS[1], '${REST_FIELD}', field)
redis.call('PEXPIRE', KEYS[1], rest)
return 'kept'
`,
);
