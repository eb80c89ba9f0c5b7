import { Callers } from '../lib/callers.mjs';
import { measure } from '../lib/measure.mjs';
import { waitsOf } from '../lib/numbers.mjs';
import { waiting } from './takes.mjs';

/**
 * Callers who acquire and release again and again, in one process.
 *
 * @param {import('./index.mjs').RoundContext} context
 * @param {number} count
 * @param {(caller: number, turn: number) => string} keyOf
 */
export async function sustain({ open, counters, seconds, quick }, count, keyOf) {
  const callers = new Callers(await open());
  callers.start(count, keyOf);
  await callers.during(quick ? 200 : 500); // the compiler of the engine has to see the code first
  // And the first requests of all callers have to be over: they belong to nothing that is counted.
  for (let left = 30; left > 0 && callers.obtained < count; left--) await callers.during(100);
  const result = await measure(counters, () => callers.record(1_000 * seconds));
  callers.stop();
  return { ...result, ...waitsOf(callers.waits.concat(callers.waiting)), failures: callers.failures };
}

/**
 * @param {number} count
 * @param {number} retryMs longer is better here: who has just released takes the lock again, and the others disturb
 * @returns {import('./index.mjs').Work}
 */
function onOneKey(count, retryMs) {
  return {
    name: `sustained-${count}`,
    title: `${count.toLocaleString('en')} callers of one process on one key, again and again`,
    takes: waiting,
    retryMs,
    run: (context) => sustain(context, count, () => 'key'),
  };
}

export const sustained200 = onOneKey(200, 20);
export const sustained1000 = onOneKey(1_000, 100);
