import { GRANT_CONFIRM_MS, GRANT_LEASE_MS, POLL_CAP_MS, RESERVED_TOKENS } from '../../lock-store.js';

/**
 * `now`: the server's clock in µs, read once a script; `text(n)`: a number of 16 digits in full, which tostring is not.
 * A script that takes a short way out does so before.
 */
export const CLOCK = /* lua */ `
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local function text(n) return string.format('%.0f', n) end
`;

/** The field of a hold that is over but rests until minHold is; nobody adopts, renews or releases it. */
export const REST_FIELD = '@rest';

/** The field of a grant that is not confirmed yet: when it is void, in ms of the server's clock. */
export const UNTIL_FIELD = '@until';

/**
 * `count(reserved)`: a number above all that were given out, and above the server's clock in µs, so that it grows even
 * after the counter was lost. So many after it are given out with it.
 *
 * KEYS  3 fence
 */
export const COUNT = /* lua */ `
local function count(reserved)
  local highest = redis.call('SET', KEYS[3], text(now + reserved), 'GET')
  if not highest or tonumber(highest) < now then return text(now) end
  redis.call('SET', KEYS[3], text(highest + 1 + reserved))
  return text(highest + 1)
end
`;

/**
 * `own(member, lease, ...)`: makes a member the owner, with more fields in the hash if any, and returns its fencing
 * token. The numbers that the client may need for hand-overs are counted with it.
 *
 * KEYS  1 lock, 3 fence
 */
export const OWN = /* lua */ `${COUNT}
local function own(member, lease, ...)
  local token = count(${RESERVED_TOKENS})
  redis.call('HSET', KEYS[1], member .. '/' .. token, text(math.floor(now / 1000) + lease), ...)
  redis.call('PEXPIRE', KEYS[1], lease)
  return token
end
`;

/** What separates the name of an instance from the number of a member. */
export const MEMBERS = /* lua */ `
local function split(field) return string.match(field or '', '^(.*)/(%d+)$') end
local function instanceOf(member) return string.match(member, '^(.*)#[^#]*$') or member end
`;

/**
 * `current()`: the field that holds KEYS[1] and what is left of it in ms, and whether it is a grant that is not
 * confirmed. A grant that was not confirmed in time ends here: its process is dead or stopped, so all that it has in
 * the queue goes with it.
 *
 * KEYS  1 lock, 2 queue
 */
export const CURRENT = /* lua */ `${MEMBERS}
local function current()
  local held, voidAt
  for _, field in ipairs(redis.call('HKEYS', KEYS[1])) do
    if field == '${UNTIL_FIELD}' then voidAt = tonumber(redis.call('HGET', KEYS[1], field)) else held = field end
  end
  if not held then return nil end
  local left = redis.call('PTTL', KEYS[1])
  if not voidAt then return held, left, false end
  if now < voidAt * 1000 then return held, math.min(left, math.ceil(voidAt - now / 1000)), true end
  redis.call('DEL', KEYS[1])
  local dead = instanceOf(split(held) or '') .. '#'
  for _, name in ipairs(redis.call('ZRANGE', KEYS[2], 0, -1)) do
    if string.sub(name, 1, #dead) == dead then redis.call('ZREM', KEYS[2], name) end
  end
end
`;

/**
 * `enqueue(member, mark, arrival)`: gives a member its place; '0' is a new one, from the same counter as the tokens.
 * Returns the place and whether the member was given it anew. `inboxOf(member)`, `listeners(inbox)`: where it is told,
 * and how many listen there.
 *
 * KEYS  2 queue, 3 fence; the names of inboxes begin as that of the fence does. In a Cluster that ends with the tag of a
 *       slot; a node counts its own subscribers only, so that it is not asked.
 */
export const PLACES = /* lua */ `
local prefix, slot = string.match(KEYS[3], '^(.*:)fence(.*)$')
local function inboxOf(member) return prefix .. 'inbox:' .. instanceOf(member) end
local function listeners(inbox)
  if slot ~= '' then return -1 end
  local reply = redis.pcall('PUBSUB', 'NUMSUB', inbox)
  return reply.err and -1 or tonumber(reply[2])
end
local function enqueue(member, mark, arrival)
  local known = redis.call('ZSCORE', KEYS[2], member .. mark)
  local moved = redis.call('ZREM', KEYS[2], mark == '' and member .. '!' or member) == 1
  local place = known or (arrival ~= '0' and arrival) or count(0)
  if not known then redis.call('ZADD', KEYS[2], place, member .. mark) end
  redis.call('PEXPIRE', KEYS[2], ${5 * POLL_CAP_MS})
  return text(tonumber(place)), (arrival ~= '0' and not known and not moved) and 1 or 0
end
`;

/**
 * `grant(member, lease)`: makes the next one in the queue the owner and tells it. Returns the token if that is
 * the member. Whether its process listens is asked before: what was published is never taken back.
 *
 * `answer(member, place, rejoined)`: what a member is told that does not own the lock.
 *
 * KEYS  1 lock, 2 queue, 3 fence
 */
export const QUEUE = /* lua */ `${PLACES}
local function grant(self, lease)
  while true do
    local popped = redis.call('ZPOPMIN', KEYS[2])
    if not popped[1] then return nil end
    local member, mark = string.match(popped[1], '^(.-)(!?)$')
    if member == self then return own(member, lease) end
    local inbox = inboxOf(member)
    if mark == '!' or listeners(inbox) ~= 0 then
      local voidAt = text(math.floor(now / 1000) + ${GRANT_CONFIRM_MS})
      local token = own(member, ${GRANT_LEASE_MS}, '${UNTIL_FIELD}', voidAt)
      local told = redis.pcall('PUBLISH', inbox, token .. ' ' .. member .. ' ' .. KEYS[1])
      if type(told) == 'table' and told.err then
        redis.call('DEL', KEYS[1])
        redis.call('ZADD', KEYS[2], popped[2], popped[1])
      end
      return nil
    end
  end
end
local function answer(member, place, rejoined)
  local field, left = current()
  local queued = redis.call('ZCARD', KEYS[2])
  if not place then return {'held', field, left, queued} end
  return {'held', field, left, queued, place, rejoined, listeners(inboxOf(member))}
end
`;
