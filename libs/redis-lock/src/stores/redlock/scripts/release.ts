import type { ReleaseReply } from '../../lock-store.js';
import { defineScript } from '../../redis/script.js';
import { CLOCK, REST_FIELD } from '../../redis/scripts/shared.js';
import { HOLDER } from './shared.js';

const STATUS = ['lost', 'released', 'kept'] as const;

/**
 * Ends the hold of a member on this node, or closes the key until its minHold is over. With an empty token it is also
 * *leave*: whatever the member has goes. Where the lock is free then, the first of those who wait and listen is told to
 * ask: nobody is made the owner, since this node cannot know what the others say.
 *
 * KEYS  1 lock (hash), 2 queue (zset)
 * ARGV  1 member, 2 token or '' for any, 3 minHold in ms from the acquisition, which was at token / 1000
 * Answer: 1 released, 2 kept, 0 when the member did not own it
 */
export const releaseScript = defineScript<
  readonly [member: string, token: string, minHoldMs: string],
  number,
  ReleaseReply['status']
>(
  /* lua */ `
local member, status = ARGV[1], 0
if ARGV[2] ~= '' and ARGV[3] == '0' then
  status = redis.call('HDEL', KEYS[1], member .. '/' .. ARGV[2])
  if redis.call('EXISTS', KEYS[2]) == 0 then return status end
else
  ${CLOCK}${HOLDER}
  local field = redis.call('HKEYS', KEYS[1])[1]
  local owner, token = split(field or '')
  if owner == member and (ARGV[2] == '' or ARGV[2] == token) then
    local minHold, left = tonumber(ARGV[3]), redis.call('PTTL', KEYS[1])
    local rest = math.min(minHold, math.ceil(tonumber(token) / 1000 + minHold - now / 1000))
    if left >= 0 then rest = math.min(rest, left) end
    redis.call('DEL', KEYS[1])
    status = 1
    if rest > 0 then
      redis.call('HSET', KEYS[1], '${REST_FIELD}', field)
      redis.call('PEXPIRE', KEYS[1], rest)
      status = 2
    end
  end
end
redis.call('ZREM', KEYS[2], member)
if redis.call('EXISTS', KEYS[1]) == 1 then return status end
local prefix = string.match(KEYS[1], '^[^{]*')
while true do
  local next = redis.call('ZPOPMIN', KEYS[2])[1]
  if not next then return status end
  local inbox = prefix .. 'inbox:' .. (string.match(next, '^(.*)#[^#]*$') or next)
  local listeners = redis.pcall('PUBSUB', 'NUMSUB', inbox)
  if listeners.err or tonumber(listeners[2]) > 0 then
    redis.pcall('PUBLISH', inbox, '0 ' .. next .. ' ' .. KEYS[1])
    return status
  end
end
`,
  (status) => STATUS[status] ?? 'lost',
);
