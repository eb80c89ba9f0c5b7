import { setTimeout as delay } from 'node:timers/promises';
import { median } from '../lib/numbers.mjs';
import { waiting } from './takes.mjs';

const count = 10_000;

async function heapBytes() {
  const readings = [];
  for (let turn = 0; turn < 5; turn++) {
    await delay(100);
    globalThis.gc?.();
    readings.push(process.memoryUsage().heapUsed);
  }
  return median(readings);
}

/** @type {import('./index.mjs').Work} */
export const memory = {
  name: 'memory',
  title: `Memory of a caller that waits (${count.toLocaleString('en')} wait for one key)`,
  takes: waiting,
  rounds: 3,
  columns: [{ title: 'bytes of heap a caller', figure: 'bytes' }],
  async run({ open, quick }) {
    // Those that poll rest between two attempts: what counts is a caller, not commands on their way.
    const user = await open({ retryMs: 2_000 });
    const holder = await open();
    await holder.acquire('key');
    const before = await heapBytes();
    let inside = 0;
    for (let caller = 0; caller < count; caller++) void user.acquire('key').then(() => inside++);
    await delay(quick ? 1_500 : 3_000);
    const after = await heapBytes();
    if (inside > 0) throw new Error('Mutual exclusion is broken: a caller did not wait');
    return { bytes: (after - before) / count };
  },
};
