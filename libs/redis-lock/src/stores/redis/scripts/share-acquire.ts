import type { AcquireReply } from '../../lock-store.js';
import { acquiredReply, sharedHeldReply, type SharedHeldAnswer } from '../replies.js';
import { defineScript } from '../script.js';
import type { LateReply } from './acquire.js';
import { CLOCK } from './shared.js';
import { SHARES } from './shares.js';

type AcquireAnswer =
  | [status: 'acquired', token: string, remainingMs: number, granted?: 1]
  | SharedHeldAnswer
  | [status: 'late', serverTimeUs: string];

/**
 * Gives a member its permits of a lock with shares, or queues it. A holder itself gets its token again. Nobody passes by
 * those who wait.
 *
 * KEYS  see SHARES
 * ARGV  1 member, 2 lease in ms, 3 latest server time in µs at which it may run, 4 permits, 5 limit,
 *       and for a member that queues 6 its arrival number, '0' for a new one, 7 '!' when the store cannot see its
 *       inbox, else ''
 * Answer: see AcquireAnswer
 */
export const shareAcquireScript = defineScript<
  readonly [
    member: string,
    leaseMs: number,
    notAfterUs: number,
    permits: number,
    limit: number,
    arrival?: string,
    mark?: string,
  ],
  AcquireAnswer,
  AcquireReply | LateReply
>(
  /* lua */ `${CLOCK}
if now > tonumber(ARGV[3]) then return {'late', text(now)} end
${SHARES}
local member, lease, permits, limit = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[4]), tonumber(ARGV[5])
settle()
local known = redis.call('HGET', KEYS[4], member)
local expiry = known and redis.call('ZSCORE', KEYS[1], known)
if expiry then
  store()
  local _, token = ownerOf(known)
  local unconfirmed = string.find(expiry, '.', 1, true) and 1 or nil
  return {'acquired', token, math.ceil(expiry - now / 1000), unconfirmed}
end
local token, place, rejoined
if redis.call('EXISTS', KEYS[2]) == 1 or used + permits > limit then
  if ARGV[6] then place, rejoined = wait(member, ARGV[7], ARGV[6], permits, limit) end
  token = serve(member, lease)
end
if not token and redis.call('EXISTS', KEYS[2]) == 0 and used + permits <= limit then
  token, place = own(member, permits, lease), nil
end
store()
if token then return {'acquired', token, lease} end
return answer(member, place, rejoined)
`,
  (answer) => {
    if (answer[0] === 'held') return sharedHeldReply(answer);
    if (answer[0] === 'late') return { status: 'late', serverTimeUs: Number(answer[1]) };
    return acquiredReply(answer[1], answer[2], answer[3]);
  },
);
