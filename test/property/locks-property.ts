import fc from 'fast-check';
import { setTimeout as sleep } from 'node:timers/promises';
import { GRANT_CONFIRM_MS, POLL_CAP_MS } from '../../libs/redis-lock/src/stores/lock-store.js';
import { release } from './caller.js';
import { Ledger } from './ledger.js';
import { everything } from './steps.js';
import type { World } from './world.js';

/**
 * How long nobody may get on although nobody holds a lock, in ms. `told`: less than until anybody asks again by himself.
 * `asking`: until somebody has asked. `trouble`: until a grant that was lost is void as well.
 */
const STILL_MS = { told: POLL_CAP_MS - 100, asking: 2 * POLL_CAP_MS, trouble: GRANT_CONFIRM_MS + 3 * POLL_CAP_MS };

function mayBeStill({ meddled, ended }: Ledger): number {
  if (meddled) return STILL_MS.trouble;
  return ended ? STILL_MS.asking : STILL_MS.told;
}

/**
 * Whatever callers do: one holder a key, tokens that grow, nobody waits for ever, nothing is left. A rejection that nobody
 * handles ends the process, and so the test.
 */
export function locksProperty(
  newWorld: () => World,
  steps = everything,
): fc.IAsyncProperty<[Iterable<fc.AsyncCommand<Ledger, World>>]> {
  return fc.asyncProperty(steps, async (commands) => {
    const ledger = new Ledger();
    const world = await newWorld().open();
    try {
      await fc.asyncModelRun(() => ({ model: ledger, real: world }), commands);
      await releaseAll(ledger, world);
      await untilNothingIsLeft(ledger, world);
    } finally {
      await world.close();
    }
    ledger.check();
  });
}

/** Everybody who has the lock gives it back at once, until nobody waits any more. */
async function releaseAll(ledger: Ledger, world: World): Promise<void> {
  ledger.note('all release');
  for (const { link } of world.stations) link.repair();
  let movedAt = performance.now();
  let waiting = ledger.waiting.length;
  while (ledger.holdings.size > 0 || ledger.waiting.length > 0) {
    if (ledger.holdings.size > 0 || ledger.waiting.length !== waiting) movedAt = performance.now();
    waiting = ledger.waiting.length;
    await Promise.all([...ledger.holdings].map(async (holding) => release(ledger, holding)));
    await sleep(1);
    const stillMs = performance.now() - movedAt;
    if (stillMs > mayBeStill(ledger)) {
      const who = ledger.waiting.map(({ name, key }) => `${name} for ${key}`);
      ledger.violated(`nobody holds a lock, and these still wait after ${Math.round(stillMs)} ms: ${who.join(', ')}`);
      for (const caller of ledger.waiting) caller.abort();
      return ledger.check();
    }
    ledger.check();
  }
}

/** What is given back in the background may take a while. */
async function untilNothingIsLeft(ledger: Ledger, world: World): Promise<void> {
  const deadline = performance.now() + mayBeStill(ledger);
  let left = await world.left();
  while (left.length > 0 && performance.now() < deadline) {
    await sleep(5);
    left = await world.left();
  }
  if (left.length > 0) ledger.violated(`left behind: ${left.join(', ')}`);
  ledger.check();
}
