
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local function text(n) return string.format('%.0f', n) end

local held
local left = redis.call('PTTL', KEYS[1])
for _, field in ipairs(redis.call('HKEYS', KEYS[1])) do
  if field == '@until' then
    left = math.min(left, math.ceil(redis.call('HGET', KEYS[1], field) - now / 1000))
    if left <= 0 then return nil end
  else
    held = field
  end
end
if not held then return nil end
return {'held', held, left, redis.call('ZCARD', KEYS[2])}
