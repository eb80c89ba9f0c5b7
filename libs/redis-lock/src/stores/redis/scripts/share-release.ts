import type { ReleaseReply } from '../../lock-store.js';
import { defineScript } from '../script.js';
import { CLOCK, REST_FIELD } from './shared.js';
import { SHARES } from './shares.js';

/**
 * Gives permits of a lock with shares back, or keeps them until minHold is over, and serves those who wait. With an empty
 * token it is also *leave*: whatever the member has goes, its place in the queue too.
 *
 * KEYS  see SHARES
 * ARGV  1 member, 2 token or '' for any, 3 permits, 4 minHold in ms from the acquisition, which was at token / 1000
 * Answer: 'released', 'kept', or 'lost' when the member did not hold them
 */
export const shareReleaseScript = defineScript<
  readonly [member: string, token: string, permits: number, minHoldMs: number],
  ReleaseReply['status'],
  ReleaseReply
>(
  /* lua */ `${CLOCK}${SHARES}
local member, token, minHold = ARGV[1], ARGV[2], tonumber(ARGV[4])
settle()
local name, expiry
if token == '' then
  redis.call('ZREM', KEYS[2], member, member .. '!')
  name = redis.call('HGET', KEYS[4], member) or ''
  expiry = redis.call('ZSCORE', KEYS[1], name)
else
  name, expiry = find(member .. '/' .. token, ARGV[3])
end
local status = 'lost'
if expiry then
  status = 'released'
  local rest = 0
  if minHold > 0 then
    local _, since = ownerOf(name)
    rest = math.min(minHold, math.ceil(since / 1000 + minHold - now / 1000), math.ceil(expiry - now / 1000))
  end
  remove(name)
  if rest > 0 then
    status = 'kept'
    local resting = string.gsub(name, '^.*/', '${REST_FIELD}#' .. count(0) .. '/')
    add(resting, rest)
  end
elseif token == '' then
  redis.call('HDEL', KEYS[4], member)
end
serve()
store()
return status
`,
  (status) => ({ status }),
);

/**
 * Leaves a holder with one of its permits, and serves those who wait. Repeated it changes nothing.
 *
 * KEYS  see SHARES
 * ARGV  1 owner (\`<member>/<token>\`), 2 its permits
 * Answer: 1, or 0 when it is no holder
 */
export const shareReduceScript = defineScript<readonly [owner: string, permits: number], number, boolean>(
  /* lua */ `${CLOCK}${SHARES}
settle()
local owner = ARGV[1]
local name, expiry = find(owner, ARGV[2])
if expiry and name ~= owner then
  redis.call('ZREM', KEYS[1], name)
  redis.call('ZADD', KEYS[1], expiry, owner)
  redis.call('HSET', KEYS[4], ownerOf(owner), owner)
  used = used - permitsOf(name) + 1
end
serve()
store()
return expiry and 1 or 0
`,
  (isHolder) => isHolder === 1,
);
