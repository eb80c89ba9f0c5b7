import type { LockState } from '../../lock-store.js';
import { heldReply, type HeldAnswer } from '../../redis/replies.js';
import { defineScript } from '../../redis/script.js';
import { HOLDER } from './shared.js';

/**
 * Who holds a lock on this node. It changes nothing.
 *
 * KEYS  1 lock (hash), 2 queue (zset)
 * Answer: as acquire for a member that does not wait, or nothing when the lock is free
 */
export const inspectScript = defineScript<readonly [], HeldAnswer | null, LockState>(
  /* lua */ `${HOLDER}
local field = redis.call('HKEYS', KEYS[1])[1]
if not field then return nil end
return held(field, split(field))
`,
  (answer) => (answer ? heldReply(answer) : { status: 'free' }),
);
