
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local function text(n) return string.format('%.0f', n) end

local fields = redis.call('HMGET', KEYS[1], ARGV[1], '@until')
if not fields[1] then return -1 end
local lease = tonumber(ARGV[2])
local left = redis.call('PTTL', KEYS[1])
if fields[2] then
  left = math.ceil(fields[2] - now / 1000)
  if left <= 0 then return -1 end
  redis.call('HDEL', KEYS[1], '@until')
  lease = math.max(lease, left)
elseif left >= lease then
  if not ARGV[3] then return left end
  lease = left
end
redis.call('HSET', KEYS[1], ARGV[1], text(math.floor(now / 1000) + lease))
redis.call('PEXPIRE', KEYS[1], lease)
return lease
