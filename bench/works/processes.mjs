import { setTimeout as delay } from 'node:timers/promises';
import { Callers } from '../lib/callers.mjs';
import { checkNoOverlap } from '../lib/exclusion.mjs';
import { measure, ownCpuMs } from '../lib/measure.mjs';
import { waitsOf } from '../lib/numbers.mjs';
import { waiting } from './takes.mjs';

const count = 4;
const callersEach = 25;

/**
 * @typedef {object} Report what a process sends back
 * @property {Float64Array} waits
 * @property {Float64Array} held
 * @property {Float64Array} waiting
 * @property {number} cpuMs
 * @property {number} failures
 */

/** @type {import('./index.mjs').Work} */
export const processes = {
  name: 'processes',
  title: `${count} processes × ${callersEach} callers on one key, held for 1 ms`,
  takes: waiting,
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
      checkNoOverlap(reports.map(({ held }) => held));
      const waits = waitsOf(reports.flatMap(({ waits, waiting }) => [...waits, ...waiting]));
      return { ...result, ...waits, failures: reports.reduce((sum, { failures }) => sum + failures, 0) };
    }),
  async worker({ open }, { send, told }) {
    const callers = new Callers(await open(), 1);
    send('ready');
    await told('start');
    callers.start(callersEach, () => 'key');
    await told('record');
    const cpuBefore = ownCpuMs();
    const failed = callers.record(60_000);
    await Promise.race([told('stop'), failed]);
    const cpuMs = ownCpuMs() - cpuBefore;
    const [waits, waiting, held] = [callers.waits, callers.waiting, callers.held].map((ms) => Float64Array.from(ms));
    send('report', { waits, waiting, held, cpuMs, failures: callers.failures });
  },
};
