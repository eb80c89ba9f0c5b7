// One round of one competitor, in a process of its own: neither its heap nor what the compiler has learned of the
// others' code may make a difference. Started by start-child.mjs.
import { competitors } from '../competitors/index.mjs';
import { UnavailableError } from '../competitors/unavailable.mjs';
import { works } from '../works/index.mjs';
import { scout } from '../works/scout.mjs';
import { RedisCounters } from './redis-counters.mjs';
import { Workers, workerSide } from './workers.mjs';

// They end with the benchmark, however that ends.
process.on('disconnect', () => process.exit(1));

/** @type {import('./start-child.mjs').Job} */
const job = JSON.parse(process.argv[2] ?? '');
const { url, lib, retryMs, quick } = job;
const competitor = competitors.find(({ name }) => name === job.competitor);
const work = [...works, scout].find(({ name }) => name === job.work);
if (!competitor || !work) throw new Error(`There is no ${job.work} with ${job.competitor}`);

/** @param {import('../works/index.mjs').RoundResult | { unavailable: string } | { error: Error }} message */
function answer(message) {
  // Waiting callers, timers and connections end with the process.
  process.send?.(message, () => process.exit());
}

/** @type {import('../works/index.mjs').RoundContext} */
const context = {
  url,
  lib,
  quick,
  counters: new RedisCounters(url, job.nested),
  seconds: quick ? 0.5 : 2,
  bursts: quick ? 2 : 8,
  cutOffMs: quick ? 15_000 : 60_000,
  open: (options) => competitor.open(url, { lib, retryMs, ...options }),
  async withWorkers(count, body) {
    const workers = new Workers(count, job);
    try {
      return await body(workers);
    } finally {
      workers.stop();
    }
  },
};

try {
  if (job.role === 'worker') {
    await work.worker?.(context, workerSide());
  } else {
    await context.counters.flush();
    answer(await work.run(context, competitor));
  }
} catch (error) {
  answer(error instanceof UnavailableError ? { unavailable: error.message } : { error: /** @type {Error} */ (error) });
}
