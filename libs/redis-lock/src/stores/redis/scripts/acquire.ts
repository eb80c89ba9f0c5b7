import { defineScript } from '../script.js';
import { CLOCK, CURRENT, QUEUE } from './shared.js';

/** A member that does not own the lock; the last three only if it is in the queue. `listeners` is -1 when unknown. */
export type HeldScriptReply = [
  status: 'held',
  field: string,
  remainingMs: number,
  queued: number,
  arrival?: string,
  rejoined?: 0 | 1,
  listeners?: number,
];

export type AcquireScriptReply =
  | [status: 'acquired', token: string, remainingMs: number, granted?: 1]
  | HeldScriptReply
  /** It came later than it was allowed to run; nothing was done. */
  | [status: 'late', serverTimeUs: string];

/**
 * Makes a member the owner of a free lock, or queues it. The owner itself gets its token again. A free lock that others
 * are queued for goes to the first of them that listens.
 *
 * KEYS  1 lock (hash), 2 queue (zset), 3 fence (string)
 * ARGV  1 member, 2 lease in ms, 3 latest server time in µs at which it may run,
 *       4 arrival number, '0' for a new one, '' not to queue, 5 '!' when the store cannot see the inbox of the member,
 *       else '', 6 what the names of inboxes begin with
 * Answer: see AcquireScriptReply
 */
export const acquireScript = defineScript<
  [member: string, leaseMs: number, notAfterUs: number, arrival: string, mark: string, inboxes: string],
  AcquireScriptReply
>(
  'acquire',
  3,
  /* lua */ `${CLOCK}${CURRENT}${QUEUE}
if now > tonumber(ARGV[3]) then return {'late', text(now)} end
local member, lease, inboxes = ARGV[1], tonumber(ARGV[2]), ARGV[6]
local field, left, unconfirmed = current()
local owner, ownToken = split(field)
if owner == member then return {'acquired', ownToken, left, unconfirmed and 1 or nil} end
if not field and redis.call('EXISTS', KEYS[2]) == 0 then return {'acquired', own(member, lease), lease} end
local place, rejoined
if ARGV[4] ~= '' then place, rejoined = enqueue(member, ARGV[5], ARGV[4]) end
if not field then
  local token = grant(member, lease, inboxes)
  if not token and redis.call('EXISTS', KEYS[1]) == 0 then
    if place then redis.call('ZREM', KEYS[2], member .. ARGV[5]) end
    token = own(member, lease)
  end
  if token then return {'acquired', token, lease} end
end
return answer(member, inboxes, place, rejoined)
`,
);
