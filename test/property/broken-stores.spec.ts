import { describe, expect, test } from '@jest/globals';
import type { LockStore } from 'nestjs-redis-lock';
import { SaysKeptButFrees } from '../store-contract/broken-leases.js';
import { EverybodyGetsIn, ReleasesNothing } from '../store-contract/broken-locks.js';
import { LastComeFirstServed } from '../store-contract/broken-queues.js';
import { Store } from '../store-contract/store.js';
import * as broken from './broken-stores.js';
import { locksProperty } from './locks-property.js';
import { MemoryWorld } from './memory-world.js';
import { violation } from './runs.js';
import { peace } from './steps.js';

const stores: [Type: new () => LockStore, rule: RegExp][] = [
  // The token it makes up may be the one that the other was granted by a message.
  [broken.GivesTheLockToTwo, /has several holders|got token \d+, not above/],
  [EverybodyGetsIn, /has several holders/],
  [broken.MintsASmallerToken, /got token \d+, not above/],
  [LastComeFirstServed, /overtook/],
  [SaysKeptButFrees, /before minHold was over/],
  [broken.ForgetsWhoWaits, /still wait|overtook/],
  [ReleasesNothing, /left behind|still wait/],
  [broken.LeavesItsQueue, /left behind: .* for/],
];

/** Bounded, so that a property that cannot fail is found out; about every twentieth run finds the rarest violation. */
const LIMIT_MS = 100_000;
const RUNS = { numRuns: 400, endOnFailure: true, interruptAfterTimeLimit: LIMIT_MS };

describe('The property of random callers', () => {
  test('holds for a store that keeps every rule', async () => {
    expect(
      await violation(
        locksProperty(() => new MemoryWorld(new Store())),
        { ...RUNS, numRuns: 5 },
      ),
    ).toBeUndefined();
  });

  test.each(stores.map(([Type, rule]) => ({ store: Type.name, Type, rule })))(
    'is violated by $store: $rule',
    async ({ Type, rule }) => {
      expect(
        await violation(
          locksProperty(() => new MemoryWorld(new Type()), peace),
          RUNS,
        ),
      ).toMatch(rule);
    },
    2 * LIMIT_MS,
  );
});
