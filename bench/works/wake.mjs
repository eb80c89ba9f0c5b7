import { setTimeout as delay } from 'node:timers/promises';
import { measure } from '../lib/measure.mjs';
import { waitsOf } from '../lib/numbers.mjs';
import { usualColumns } from '../lib/table.mjs';

/** @type {import('./index.mjs').Work} */
export const wake = {
  name: 'wake',
  title: 'Release until the waiter in another client runs',
  takes: ({ waits }) => waits !== false,
  // How many a second says nothing: there is a pause before each.
  columns: usualColumns.slice(1),
  async run({ open, counters, seconds, quick }, { group }) {
    const holder = await open();
    // The one who subscribes is the one who publishes: it measures no lock.
    const waiter = group === 'publish' ? holder : await open();
    /** @type {number[]} */
    const waits = [];
    const until = async (/** @type {number} */ end, /** @type {string} */ name) => {
      for (let turn = 0; performance.now() < end; turn++) {
        const key = `${name}:${turn}`;
        const release = await holder.acquire(key);
        let released = 0;
        const woken = waiter.acquire(key).then((giveBack) => {
          waits.push(performance.now() - released);
          if (released === 0) throw new Error('Mutual exclusion is broken: the waiter did not wait');
          return giveBack;
        });
        // Random, so that nobody's polling falls into step with it.
        await delay(10 + 10 * Math.random());
        released = performance.now();
        await release();
        await (
          await woken
        )();
        await delay(2);
      }
      return { ops: waits.length };
    };
    await until(performance.now() + (quick ? 200 : 500), 'warm-up');
    waits.length = 0;
    const result = await measure(counters, () => until(performance.now() + 1_000 * seconds, 'key'));
    return { ...result, ...waitsOf(waits), failures: 0 };
  },
};
