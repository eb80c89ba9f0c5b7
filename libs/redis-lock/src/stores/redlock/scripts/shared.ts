/**
 * `split(field)`: the member and the token of a hold. `held(field, owner)`: what a member is told that does not own the
 * lock; a holder may still be remembered as waiting, and is not counted.
 *
 * KEYS  1 lock, 2 queue
 */
export const HOLDER = /* lua */ `
local function split(field) return string.match(field, '^(.*)/(%d+)$') end
local function held(field, owner)
  local queued = redis.call('ZCARD', KEYS[2])
  if queued > 0 and owner and redis.call('ZSCORE', KEYS[2], owner) then queued = queued - 1 end
  return {'held', field, redis.call('PTTL', KEYS[1]), queued}
end
`;
