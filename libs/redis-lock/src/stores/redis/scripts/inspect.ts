import type { LockState } from '../../lock-store.js';
import { heldReply, type HeldAnswer } from '../replies.js';
import { defineScript } from '../script.js';
import { CLOCK, UNTIL_FIELD } from './shared.js';

/**
 * Who holds a lock. It changes nothing.
 *
 * KEYS  1 lock (hash), 2 queue (zset)
 * Answer: as acquire for a member that is not queued, or nothing when the lock is free
 */
export const inspectScript = defineScript<readonly [], HeldAnswer | null, LockState>(
  /* lua */ `${CLOCK}
local held
local left = redis.call('PTTL', KEYS[1])
for _, field in ipairs(redis.call('HKEYS', KEYS[1])) do
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
