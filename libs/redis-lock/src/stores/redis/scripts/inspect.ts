import { defineScript } from '../script.js';

/**
 * Who holds a lock.
 *
 * KEYS  1 lock (hash)
 * Answer: the field of the hold and its lease in ms, or nothing when the lock is free
 */
export const inspectScript = defineScript<[], [field: string, remainingMs: number] | null>(
  'inspect',
  1,
  /* lua */ `
local holder = redis.call('HKEYS', KEYS[1])[1]
if not holder then return nil end
return {holder, redis.call('PTTL', KEYS[1])}
`,
);
