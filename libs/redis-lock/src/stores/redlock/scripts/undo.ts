import { defineScript } from '../../redis/script.js';

/**
 * Takes back what an attempt that failed was granted on this node. It wakes nobody: whoever tried at the same time has
 * been told when to come back.
 *
 * KEYS  1 lock (hash)
 * ARGV  1 owner (\`<member>/<token>\`)
 */
export const undoScript = defineScript<readonly [owner: string], number, void>(
  /* lua */ `return redis.call('HDEL', KEYS[1], ARGV[1])`,
  () => undefined,
);
