import { describe, expect, test } from '@jest/globals';
import { locksProperty } from './locks-property.js';
import { MemoryWorld } from './memory-world.js';
import { runs, timeoutOf, violation } from './runs.js';

describe('Random callers of the memory store', () => {
  test(
    'never share a lock, never wait for ever and leave nothing behind',
    async () => {
      expect(
        await violation(
          locksProperty(() => new MemoryWorld()),
          runs(40),
        ),
      ).toBeUndefined();
    },
    timeoutOf(40),
  );
});
