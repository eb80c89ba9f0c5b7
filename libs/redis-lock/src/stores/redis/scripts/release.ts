import type { ReleaseReply } from '../../lock-store.js';
import { acquiredReply, heldReply, type HeldAnswer } from '../replies.js';
import { defineScript } from '../script.js';
import { CLOCK, CURRENT, OWN, QUEUE, REST_FIELD, UNTIL_FIELD } from './shared.js';

type ReleaseAnswer =
  | [status: ReleaseReply['status']]
  | [status: ReleaseReply['status'], 'acquired', token: string, remainingMs: number]
  | [status: ReleaseReply['status'], ...HeldAnswer];

/**
 * Ends the hold of a member, or closes the key until its minHold is over, and grants the lock to the next one. With an
 * empty token it is also *leave*: whatever the member has goes, its place in the queue too. Another's hold is never
 * touched, and a hold that was lost queues nobody.
 *
 * KEYS  1 lock (hash), 2 queue (zset), 3 fence (string)
 * ARGV  1 member, 2 token or '' for any, 3 minHold in ms from the acquisition, which was at token / 1000,
 *       or earlier where the counter is ahead of the clock,
 *       and for a successor 4 its member, 5 its lease in ms, 6 its arrival number or '0', 7 '!' when the store cannot
 *       see its inbox, else ''
 * Answer: 'released', 'kept', or 'lost' when the member did not own it; then what the successor would be answered by
 *         acquire
 */
export const releaseScript = defineScript<
  readonly [
    member: string,
    token: string,
    minHoldMs: number,
    ...successor: [] | [member: string, leaseMs: number, arrival: string, mark: string],
  ],
  ReleaseAnswer,
  ReleaseReply
>(
  /* lua */ `
local member, successor = ARGV[1], ARGV[4]
local held, voidAt
if ARGV[2] ~= '' and ARGV[3] == '0' then
  held, voidAt = unpack(redis.call('HMGET', KEYS[1], member .. '/' .. ARGV[2], '${UNTIL_FIELD}'))
  if not voidAt and not successor and redis.call('EXISTS', KEYS[2]) == 0 then
    if held then redis.call('DEL', KEYS[1]) end
    return {held and 'released' or 'lost'}
  end
end
${CLOCK}${OWN}${CURRENT}${QUEUE}
local lease = tonumber(ARGV[5])
if held and (not voidAt or now < voidAt * 1000) then
  redis.call('DEL', KEYS[1])
else
  local field, left = current()
  local owner, token = split(field)
  if ARGV[2] == '' then redis.call('ZREM', KEYS[2], member, member .. '!') end
  if owner ~= member or (ARGV[2] ~= '' and ARGV[2] ~= token) then
    if not field then grant() end
    return {'lost'}
  end
  local minHold = tonumber(ARGV[3])
  local rest = math.min(minHold, math.ceil(tonumber(token) / 1000 + minHold - now / 1000))
  if left >= 0 then rest = math.min(rest, left) end
  redis.call('DEL', KEYS[1])
  if rest > 0 then
    redis.call('HSET', KEYS[1], '${REST_FIELD}', field)
    redis.call('PEXPIRE', KEYS[1], rest)
    if not successor then return {'kept'} end
    local place, rejoined = enqueue(successor, ARGV[7], ARGV[6])
    return {'kept', unpack(answer(successor, place, rejoined))}
  end
end
if not successor then
  grant()
  return {'released'}
end
if redis.call('EXISTS', KEYS[2]) == 0 then return {'released', 'acquired', own(successor, lease), lease} end
local place, rejoined = enqueue(successor, ARGV[7], ARGV[6])
local ownToken = grant(successor, lease)
if not ownToken and redis.call('EXISTS', KEYS[1]) == 0 then
  redis.call('ZREM', KEYS[2], successor .. ARGV[7])
  ownToken = own(successor, lease)
end
if ownToken then return {'released', 'acquired', ownToken, lease} end
return {'released', unpack(answer(successor, place, rejoined))}
`,
  ([status, ...successor]) => {
    if (successor[0] === 'acquired') return { status, successor: acquiredReply(successor[1], successor[2]) };
    return successor[0] === 'held' ? { status, successor: heldReply(successor) } : { status };
  },
);
