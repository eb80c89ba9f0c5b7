import { defineScript } from '../script.js';
import type { HeldScriptReply } from './acquire.js';
import { CLOCK, CURRENT, QUEUE, REST_FIELD } from './shared.js';

export type ReleaseScriptReply =
  | [status: 'released' | 'kept' | 'lost']
  | [status: 'released' | 'kept', 'acquired', token: string, remainingMs: number]
  | [status: 'released' | 'kept', ...HeldScriptReply];

/**
 * Ends the hold of a member, or closes the key until its minHold is over, and grants the lock to the next one. With an
 * empty token it is also *leave*: whatever the member has goes, its place in the queue too. Another's hold is never
 * touched, and a hold that was lost queues nobody.
 *
 * KEYS  1 lock (hash), 2 queue (zset), 3 fence (string)
 * ARGV  1 member, 2 token or '' for any, 3 minHold in ms from the acquisition, which was at token / 1000,
 *       or earlier where the counter is ahead of the clock,
 *       4 successor or '', 5 its lease in ms, 6 its arrival number or '0', 7 '!' when the store cannot see its inbox,
 *       else '', 8 what the names of inboxes begin with
 * Answer: 'released', 'kept', or 'lost' when the member did not own it; then what the successor would be answered by
 *         acquire
 */
export const releaseScript = defineScript<
  [
    member: string,
    token: string,
    minHoldMs: number,
    successor: string,
    leaseMs: number,
    arrival: string,
    mark: string,
    inboxes: string,
  ],
  ReleaseScriptReply
>(
  'release',
  3,
  /* lua */ `${CLOCK}${CURRENT}${QUEUE}
local successor, lease, inboxes = ARGV[4], tonumber(ARGV[5]), ARGV[8]
local field, left = current()
local owner, token = split(field)
if ARGV[2] == '' then redis.call('ZREM', KEYS[2], ARGV[1], ARGV[1] .. '!') end
if owner ~= ARGV[1] or (ARGV[2] ~= '' and ARGV[2] ~= token) then
  if not field then grant('', 0, inboxes) end
  return {'lost'}
end
local minHold = tonumber(ARGV[3])
local rest = math.min(minHold, math.ceil(tonumber(token) / 1000 + minHold - now / 1000))
if left >= 0 then rest = math.min(rest, left) end
redis.call('DEL', KEYS[1])
if rest > 0 then
  redis.call('HSET', KEYS[1], '${REST_FIELD}', field)
  redis.call('PEXPIRE', KEYS[1], rest)
  if successor == '' then return {'kept'} end
  local place, rejoined = enqueue(successor, ARGV[7], ARGV[6])
  return {'kept', unpack(answer(successor, inboxes, place, rejoined))}
end
if successor == '' then
  grant('', 0, inboxes)
  return {'released'}
end
if redis.call('EXISTS', KEYS[2]) == 0 then return {'released', 'acquired', own(successor, lease), lease} end
local place, rejoined = enqueue(successor, ARGV[7], ARGV[6])
local ownToken = grant(successor, lease, inboxes)
if not ownToken and redis.call('EXISTS', KEYS[1]) == 0 then
  redis.call('ZREM', KEYS[2], successor .. ARGV[7])
  ownToken = own(successor, lease)
end
if ownToken then return {'released', 'acquired', ownToken, lease} end
return {'released', unpack(answer(successor, inboxes, place, rejoined))}
`,
);
