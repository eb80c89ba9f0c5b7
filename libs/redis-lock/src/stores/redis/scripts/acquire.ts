import type { AcquireReply } from '../../lock-store.js';
import { acquiredReply, heldReply, type HeldAnswer } from '../replies.js';
import { defineScript } from '../script.js';
import { CLOCK, CURRENT, OWN, QUEUE } from './shared.js';

type AcquireAnswer = [status: 'acquired', token: string, remainingMs: number, granted?: 1] | HeldAnswer | LateAnswer;

type LateAnswer = [status: 'late', serverTimeUs: string];

/** It came later than it was allowed to run; nothing was done. */
export interface LateReply {
  readonly status: 'late';
  readonly serverTimeUs: number;
}

/**
 * Makes a member the owner of a free lock, or queues it. The owner itself gets its token again. A free lock that others
 * are queued for goes to the first of them that listens.
 *
 * KEYS  1 lock (hash), 2 queue (zset), 3 fence (string)
 * ARGV  1 member, 2 lease in ms, 3 latest server time in µs at which it may run,
 *       and for a member that queues 4 its arrival number, '0' for a new one, 5 '!' when the store cannot see its
 *       inbox, else ''
 * Answer: see AcquireAnswer
 */
export const acquireScript = defineScript<
  readonly [member: string, leaseMs: number, notAfterUs: number, arrival?: string, mark?: string],
  AcquireAnswer,
  AcquireReply | LateReply
>(
  /* lua */ `${CLOCK}${OWN}
if now > tonumber(ARGV[3]) then return {'late', text(now)} end
local member, lease = ARGV[1], tonumber(ARGV[2])
if redis.call('EXISTS', KEYS[1], KEYS[2]) == 0 then return {'acquired', own(member, lease), lease} end
${CURRENT}${QUEUE}
local field, left, unconfirmed = current()
local owner, ownToken = split(field)
if owner == member then return {'acquired', ownToken, left, unconfirmed and 1 or nil} end
local place, rejoined
if ARGV[4] then place, rejoined = enqueue(member, ARGV[5], ARGV[4]) end
if not field then
  local token = grant(member, lease)
  if not token and redis.call('EXISTS', KEYS[1]) == 0 then
    if place then redis.call('ZREM', KEYS[2], member .. ARGV[5]) end
    token = own(member, lease)
  end
  if token then return {'acquired', token, lease} end
end
return answer(member, place, rejoined)
`,
  (answer) => {
    if (answer[0] === 'held') return heldReply(answer);
    if (answer[0] === 'late') return { status: 'late', serverTimeUs: Number(answer[1]) };
    return acquiredReply(answer[1], answer[2], answer[3]);
  },
);
