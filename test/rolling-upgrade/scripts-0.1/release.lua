
local member, successor = ARGV[1], ARGV[4]
local held, voidAt
if ARGV[2] ~= '' and ARGV[3] == '0' then
  held, voidAt = unpack(redis.call('HMGET', KEYS[1], member .. '/' .. ARGV[2], '@until'))
  if not voidAt and not successor and redis.call('EXISTS', KEYS[2]) == 0 then
    if held then redis.call('DEL', KEYS[1]) end
    return {held and 'released' or 'lost'}
  end
end

local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local function text(n) return string.format('%.0f', n) end

local function count(reserved)
  local highest = redis.call('SET', KEYS[3], text(now + reserved), 'GET')
  if not highest or tonumber(highest) < now then return text(now) end
  redis.call('SET', KEYS[3], text(highest + 1 + reserved))
  return text(highest + 1)
end
local function own(member, lease, ...)
  local token = count(16)
  redis.call('HSET', KEYS[1], member .. '/' .. token, text(math.floor(now / 1000) + lease), ...)
  redis.call('PEXPIRE', KEYS[1], lease)
  return token
end

local function split(field) return string.match(field or '', '^(.*)/(%d+)$') end
local function instanceOf(member) return string.match(member, '^(.*)#[^#]*$') or member end

local function current()
  local held, voidAt
  for _, field in ipairs(redis.call('HKEYS', KEYS[1])) do
    if field == '@until' then voidAt = tonumber(redis.call('HGET', KEYS[1], field)) else held = field end
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
  redis.call('PEXPIRE', KEYS[2], 7500)
  return text(tonumber(place)), (arrival ~= '0' and not known and not moved) and 1 or 0
end
local function grant(self, lease)
  while true do
    local popped = redis.call('ZPOPMIN', KEYS[2])
    if not popped[1] then return nil end
    local member, mark = string.match(popped[1], '^(.-)(!?)$')
    if member == self then return own(member, lease) end
    local inbox = inboxOf(member)
    if mark == '!' or listeners(inbox) ~= 0 then
      local voidAt = text(math.floor(now / 1000) + 3000)
      local token = own(member, 8000, '@until', voidAt)
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
    redis.call('HSET', KEYS[1], '@rest', field)
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
