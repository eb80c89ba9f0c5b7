import { setTimeout as delay } from 'node:timers/promises';
import { Exclusion } from '../lib/exclusion.mjs';
import { measure } from '../lib/measure.mjs';
import { waitsOf } from '../lib/numbers.mjs';
import { waiting } from './takes.mjs';

/**
 * All callers want the same key at once, each of them once.
 *
 * @param {import('../competitors/index.mjs').LockUser} user
 * @param {string} key
 * @param {number} count
 * @param {number} cutOffMs
 */
async function burst(user, key, count, cutOffMs) {
  const exclusion = new Exclusion();
  const started = performance.now();
  /** @type {number[]} */
  const waits = [];
  let failures = 0;
  let over = false;
  const caller = async () => {
    let release;
    try {
      release = await user.acquire(key);
    } catch {
      failures++;
      return;
    }
    if (!over) waits.push(performance.now() - started);
    exclusion.enter(key);
    await Promise.resolve(); // without it a second holder could never be seen
    exclusion.leave(key);
    await release();
  };
  const all = Promise.all(Array.from({ length: count }, caller));
  const timer = new AbortController();
  const cut = await Promise.race([
    all.then(() => false),
    delay(cutOffMs, true, { signal: timer.signal }).catch(() => false),
  ]);
  timer.abort();
  over = true;
  const ms = performance.now() - started;
  const waiting = Array.from({ length: count - waits.length - failures }, () => ms);
  return { waits, waiting, failures, ms, cut };
}

/**
 * @param {number} count
 * @param {object} options
 * @param {number} options.retryMs shorter is better here: nobody comes back
 * @param {number} options.enoughMs a round that has taken this long begins no further burst
 * @returns {import('./index.mjs').Work}
 */
function burstOf(count, { retryMs, enoughMs }) {
  return {
    name: `burst-${count}`,
    title: `${count.toLocaleString('en')} callers of one process on one key, once each`,
    takes: waiting,
    retryMs,
    async run({ open, counters, bursts, cutOffMs }) {
      const user = await open();
      const warm = performance.now() + 300;
      for (let turn = 0; performance.now() < warm; turn++) await burst(user, `warm-up:${turn}`, 50, cutOffMs);
      /** @type {Awaited<ReturnType<typeof burst>>[]} */
      const done = [];
      const result = await measure(counters, async () => {
        const started = performance.now();
        for (let turn = 0; turn < bursts && !done.at(-1)?.cut; turn++) {
          if (turn > 0 && performance.now() - started > enoughMs) break;
          done.push(await burst(user, `key:${turn}`, count, cutOffMs));
        }
        return { ops: done.reduce((sum, { waits }) => sum + waits.length, 0) };
      });
      // Over all of them: the median burst of few callers is one without a garbage collection, that of many is not.
      const ms = done.reduce((sum, burst) => sum + burst.ms, 0);
      const waits = waitsOf(done.flatMap(({ waits, waiting }) => [...waits, ...waiting]));
      return {
        ...result,
        ...waits,
        opsPerSecond: (1_000 * result.ops) / ms,
        bursts: done.length,
        cutOff: done.filter(({ cut }) => cut).length,
        failures: done.reduce((sum, { failures }) => sum + failures, 0),
      };
    },
  };
}

export const burst200 = burstOf(200, { retryMs: 5, enoughMs: 12_000 });
export const burst1000 = burstOf(1_000, { retryMs: 10, enoughMs: 4_000 });
