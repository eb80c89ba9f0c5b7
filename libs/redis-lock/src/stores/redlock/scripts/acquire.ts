import { POLL_CAP_MS, RESERVED_TOKENS, type HeldReply } from '../../lock-store.js';
import { heldReply } from '../../redis/replies.js';
import { defineScript } from '../../redis/script.js';
import { CLOCK } from '../../redis/scripts/shared.js';
import { HOLDER } from './shared.js';

type AcquireAnswer =
  | number
  | [status: 'own', token: string, fence: string, agreed: 0 | 1]
  | [status: 'held', field: string, remainingMs: number, queued: number]
  | [status: 'late', serverTimeUs: string];

/** What one node says. */
export type NodeAnswer =
  /** The lock is the member's here, under its proposal; `fence` is the highest number that the node knew before. */
  | { readonly status: 'granted'; readonly fence: number }
  /** It was already, maybe under another token; `agreed`: the node had accepted that, or it was written as agreed upon. */
  | { readonly status: 'own'; readonly token: number; readonly fence: number; readonly agreed: boolean }
  | HeldReply
  /** The command came later than it was allowed to run; nothing was done. */
  | { readonly status: 'late'; readonly serverTimeUs: number };

/**
 * Makes a member the owner of a lock that is free on this node, under the token that it proposes. The owner itself gets
 * its token again. The expiry of a hold whose token the node has not accepted is written as a negative number. A member that waits is remembered, so that a release can wake it.
 *
 * KEYS  1 lock (hash), 2 queue (zset), 3 fence (string), left out where tokens need not grow
 * ARGV  1 member, 2 proposed token, 3 lease in ms, 4 latest server time in µs at which it may run,
 *       and for a member that waits 5 any mark
 * Answer: the fence as it was before, when the member owns the lock now; else see AcquireAnswer
 */
export const acquireScript = defineScript<
  readonly [member: string, token: string, leaseMs: string, notAfterUs: number, mark?: string],
  AcquireAnswer,
  NodeAnswer
>(
  /* lua */ `${CLOCK}
if now > tonumber(ARGV[4]) then return {'late', text(now)} end
local field = redis.call('HKEYS', KEYS[1])[1]
if not field then
  local fence, expiry = '0', math.floor(now / 1000) + ARGV[3]
  if KEYS[3] then
    local reserved = ARGV[2] + ${RESERVED_TOKENS}
    fence = redis.call('SET', KEYS[3], text(reserved), 'GET') or '0'
    if tonumber(fence) >= tonumber(ARGV[2]) then
      expiry = -expiry
      if tonumber(fence) > reserved then redis.call('SET', KEYS[3], fence) end
    end
  end
  redis.call('HSET', KEYS[1], ARGV[1] .. '/' .. ARGV[2], text(expiry))
  redis.call('PEXPIRE', KEYS[1], ARGV[3])
  return tonumber(fence)
end
${HOLDER}
local owner, token = split(field)
if owner == ARGV[1] then
  local agreed = tonumber(redis.call('HGET', KEYS[1], field)) > 0 and 1 or 0
  return {'own', token, KEYS[3] and redis.call('GET', KEYS[3]) or '0', agreed}
end
if ARGV[5] then
  redis.call('ZADD', KEYS[2], 'NX', ARGV[2], ARGV[1])
  redis.call('PEXPIRE', KEYS[2], ${5 * POLL_CAP_MS})
end
return held(field, owner)
`,
  (answer) => {
    if (typeof answer === 'number') return { status: 'granted', fence: answer };
    if (answer[0] === 'held') return heldReply(answer);
    if (answer[0] === 'late') return { status: 'late', serverTimeUs: Number(answer[1]) };
    return { status: 'own', token: Number(answer[1]), fence: Number(answer[2]), agreed: answer[3] === 1 };
  },
);
