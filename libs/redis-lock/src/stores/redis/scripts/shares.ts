import { GRANT_CONFIRM_MS, POLL_CAP_MS } from '../../lock-store.js';
import { COUNT, MEMBERS, PLACES } from './shared.js';

/** The field that counts the permits that are taken; found out anew where it is missing. */
const USED_FIELD = '@used';

/**
 * What a holder is called in the sorted set: `<member>/<token>`, and `*<permits>` if there are more than one.
 * `find(owner, permits)`: its name and expiry; the holder may have given back all permits but one since.
 *
 * KEYS  1 holders (zset)
 */
export const NAME = /* lua */ `
local function permitsOf(name) return tonumber(string.match(name, '%*(%d+)$') or 1) end
local function ownerOf(name) return string.match(name, '^(.*)/(%d+)%*?%d*$') end
local function nameOf(owner, permits) return tonumber(permits) == 1 and owner or owner .. '*' .. permits end
local function find(owner, permits)
  local name = nameOf(owner, permits)
  local expiry = redis.call('ZSCORE', KEYS[1], name)
  if expiry or name == owner then return name, expiry end
  return owner, redis.call('ZSCORE', KEYS[1], owner)
end
`;

/**
 * Locks with shares. Each holder has an expiry of its own, in ms of the server's clock; that of a grant which nobody has
 * confirmed ends in .5, which is when it is void.
 *
 * `settle()`: takes those out who have ended. With a grant that was not confirmed goes all that its process, dead or
 * stopped, has in the queue. Run it first: `used` is how many permits are taken then.
 * `add(name, lease, unconfirmed)`, `take(name)`: a holder more or less. `store()`: keeps what has changed, last.
 * `serve(member, lease)`: grants to those in the queue, in its order, as long as there are enough permits. Returns the
 * token of the member if its turn came. `answer(…)`: what a member is told that holds nothing.
 *
 * KEYS  1 holders (zset), 2 queue (zset), 3 fence (string), 4 members (hash): a member → its name as a holder, or the
 *       permits that it waits for and its limit
 */
export const SHARES = /* lua */ `${COUNT}${MEMBERS}${NAME}${PLACES}
local nowMs = math.floor(now / 1000)
local used
local function remove(name)
  redis.call('ZREM', KEYS[1], name)
  redis.call('HDEL', KEYS[4], ownerOf(name))
  used = used - permitsOf(name)
end
local function settle()
  used = tonumber(redis.call('HGET', KEYS[4], '${USED_FIELD}') or '')
  if not used or redis.call('EXISTS', KEYS[1]) == 0 then
    used = 0
    for _, name in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do used = used + permitsOf(name) end
  end
  local ended = redis.call('ZRANGE', KEYS[1], '-inf', nowMs + 0.5, 'BYSCORE', 'WITHSCORES')
  for i = 1, #ended, 2 do
    remove(ended[i])
    if string.find(ended[i + 1], '.', 1, true) then
      local dead = instanceOf(ownerOf(ended[i])) .. '#'
      for _, waiting in ipairs(redis.call('ZRANGE', KEYS[2], 0, -1)) do
        if string.sub(waiting, 1, #dead) == dead then redis.call('ZREM', KEYS[2], waiting) end
      end
    end
  end
end
local function keepFor(key, lease)
  if redis.call('PTTL', key) < lease then redis.call('PEXPIRE', key, lease) end
end
local function add(name, lease, unconfirmed)
  redis.call('ZADD', KEYS[1], text(nowMs + lease) .. (unconfirmed and '.5' or ''), name)
  redis.call('HSET', KEYS[4], ownerOf(name), name)
  keepFor(KEYS[1], lease)
  keepFor(KEYS[4], lease)
  used = used + permitsOf(name)
end
local function wait(member, mark, arrival, permits, limit)
  redis.call('HSET', KEYS[4], member, permits .. ' ' .. limit)
  keepFor(KEYS[4], ${5 * POLL_CAP_MS})
  return enqueue(member, mark, arrival)
end
local function store()
  if redis.call('EXISTS', KEYS[1], KEYS[2]) > 0 then
    redis.call('HSET', KEYS[4], '${USED_FIELD}', used)
    keepFor(KEYS[4], ${5 * POLL_CAP_MS})
  else
    redis.call('DEL', KEYS[4])
  end
end
local function own(member, permits, lease)
  local token = count(0)
  add(nameOf(member .. '/' .. token, permits), lease)
  return token
end
local function serve(self, lease)
  local token
  while true do
    local head = redis.call('ZRANGE', KEYS[2], 0, 0)[1]
    if not head then return token end
    local member, mark = string.match(head, '^(.-)(!?)$')
    local permits, limit = string.match(redis.call('HGET', KEYS[4], member) or '', '^(%d+) (%d+)$')
    if permits and used + permits > tonumber(limit) then return token end
    local place = redis.call('ZPOPMIN', KEYS[2])[2]
    local inbox = inboxOf(member)
    if permits and member == self then
      token = own(member, permits, lease)
    elseif permits and (mark == '!' or listeners(inbox) ~= 0) then
      local number = count(0)
      local name = nameOf(member .. '/' .. number, permits)
      add(name, ${GRANT_CONFIRM_MS}, true)
      local told = redis.pcall('PUBLISH', inbox, number .. '*' .. permits .. ' ' .. member .. ' ' .. KEYS[1])
      if type(told) == 'table' and told.err then
        remove(name)
        redis.call('HSET', KEYS[4], member, permits .. ' ' .. limit)
        redis.call('ZADD', KEYS[2], place, head)
        return token
      end
    else
      redis.call('HDEL', KEYS[4], member)
    end
  end
end
local function answer(member, place, rejoined)
  local first = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
  local left = first[1] and math.max(1, math.ceil(first[2] - now / 1000)) or ${POLL_CAP_MS}
  local held = {'held', first[1] or '', left, redis.call('ZCARD', KEYS[2]), redis.call('GET', KEYS[3]) or '0'}
  if not place then return held end
  held[6], held[7], held[8] = place, rejoined, listeners(inboxOf(member))
  return held
end
`;
