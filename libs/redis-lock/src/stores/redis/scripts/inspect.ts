import type { LockState } from '../../lock-store.js';
import { heldReply, type HeldAnswer } from '../replies.js';
import { defineScript } from '../script.js';
import { CLOCK, UNTIL_FIELD } from './shared.js';

/**
 * Who holds a lock; of one with shares, the holder that ends first. It changes nothing.
 *
 * KEYS  1 lock (hash, or zset of one with shares), 2 queue (zset)
 * Answer: as acquire for a member that is not queued, or nothing when the lock is free
 */
export const inspectScript = defineScript<readonly [], HeldAnswer | null, LockState>(
  /* lua */ `${CLOCK}
local held
local left = redis.call('PTTL', KEYS[1])
local fields = redis.pcall('HKEYS', KEYS[1])
if fields.err then
  fields = {}
  for _, name in ipairs(redis.call('ZRANGE', KEYS[1], text(now / 1000), 'inf', 'BYSCORE', 'LIMIT', 0, 1)) do
    held, left = string.gsub(name, '%*%d+$', ''), math.ceil(redis.call('ZSCORE', KEYS[1], name) - now / 1000)
  end
end
for _, field in ipairs(fields) do
  if field == '${UNTIL_FIELD}' then
    left = math.min(left, math.ceil(redis.call('HGET', KEYS[1], field) - now / 1000))
    if left <= 0 then return nil end
  else
    held = field
  end
end
if not held then return nil end
return {'held', held, left, redis.call('ZCARD', KEYS[2])}
`,
  (answer) => (answer ? heldReply(answer) : { status: 'free' }),
);
