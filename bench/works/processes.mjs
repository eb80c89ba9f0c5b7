import { setTimeout as delay } from 'node:timers/promises';
import { Callers } from '../lib/callers.mjs';
import { checkNoOverlap } from '../lib/exclusion.mjs';
import { measure, ownCpuMs } from '../lib/measure.mjs';
import { waitsOf } from '../lib/numbers.mjs';
import { permits } from '../competitors/semaphores.mjs';
import { readers } from '../competitors/read-write.mjs';
import { usualColumns } from '../lib/table.mjs';
import { waiting } from './takes.mjs';

const count = 4;
const callersEach = 25;

/**
 * @typedef {object} Report what a process sends back
 * @property {Float64Array} waits
 * @property {Float64Array} aloneWaits
 * @property {Float64Array} held
 * @property {Float64Array} waiting
 * @property {number} cpuMs
 * @property {number} failures
 */

/**
 * Processes whose callers want one key again and again.
 *
 * @param {Pick<import('./index.mjs').Work, 'name' | 'title' | 'takes' | 'columns'>} about
 * @param {number} [limit] how many permits the lock has
 * @returns {import('./index.mjs').Work}
 */
function contended(about, limit = 1) {
  return {
    ...about,
    retryMs: 20,
    run: ({ withWorkers, counters, seconds, quick }) =>
      withWorkers(count, async (workers) => {
        await workers.all('ready');
        workers.send('start');
        await delay(quick ? 300 : 700);
        /** @type {Report[]} */
        let reports = [];
        const result = await measure(counters, async () => {
          workers.send('record');
          await workers.during(1_000 * seconds);
          workers.send('stop');
          reports = /** @type {Report[]} */ (await workers.all('report'));
          return {
            ops: reports.reduce((sum, { waits }) => sum + waits.length, 0),
            cpuMs: reports.reduce((sum, { cpuMs }) => sum + cpuMs, 0),
          };
        });
        checkNoOverlap(
          reports.map(({ held }) => held),
          limit,
        );
        const waits = waitsOf(reports.flatMap(({ waits, waiting }) => [...waits, ...waiting]));
        const { p99: aloneP99 } = waitsOf(reports.flatMap(({ aloneWaits }) => [...aloneWaits]));
        const failures = reports.reduce((sum, { failures }) => sum + failures, 0);
        return { ...result, ...waits, aloneP99, failures };
      }),
    async worker({ open }, { send, told }) {
      const callers = new Callers(await open(), 1, limit);
      send('ready');
      await told('start');
      callers.start(callersEach, () => 'key');
      await told('record');
      const cpuBefore = ownCpuMs();
      const failed = callers.record(60_000);
      await Promise.race([told('stop'), failed]);
      const cpuMs = ownCpuMs() - cpuBefore;
      const { waits, aloneWaits, waiting, held, failures } = callers;
      const numbers = Object.entries({ waits, aloneWaits, waiting, held });
      const copies = Object.fromEntries(numbers.map(([name, values]) => [name, Float64Array.from(values)]));
      send('report', { ...copies, cpuMs, failures });
    },
  };
}

const where = `${count} processes × ${callersEach} callers`;

export const processes = contended({
  name: 'processes',
  title: `${where} on one key, held for 1 ms`,
  takes: waiting,
});

export const semaphore = contended(
  {
    name: 'semaphore',
    title: `${where} on one semaphore of ${permits} permits, held for 1 ms`,
    takes: ({ group }) => group === 'semaphore',
  },
  permits,
);

export const readWrite = contended(
  {
    name: 'read-write',
    title: `${where} on one key, 95 of 100 read, held for 1 ms`,
    takes: ({ group }) => group === 'read/write',
    columns: [...usualColumns, { title: "writers' p99 wait, ms", figure: 'aloneP99', digits: 3 }],
  },
  readers,
);
