import { setTimeout as delay } from 'node:timers/promises';
import { measure, ownCpuMs } from '../lib/measure.mjs';
import { TimerCount } from '../lib/timer-count.mjs';

const count = 10_000;

/** @type {import('./index.mjs').Work} */
export const held = {
  name: 'held',
  title: `${count.toLocaleString('en')} locks of one client held and renewed, with a ttl of 30 s`,
  takes: ({ renews }) => renews === true,
  rounds: 1,
  columns: [
    { title: 'held, s', figure: 'heldSeconds' },
    { title: 'lost', figure: 'lost' },
    { title: 'own CPU, % of one core', figure: 'ownCpuPercent', digits: 2 },
    { title: 'Redis CPU, % of one core', figure: 'redisCpuPercent', digits: 2 },
    { title: 'more timers', figure: 'timers' },
  ],
  async run({ open, counters, quick }) {
    const timers = new TimerCount();
    let lost = 0;
    const user = await open({ renew: true, onLost: () => lost++ });
    const before = timers.active;
    for (let first = 0; first < count; first += 500) {
      await Promise.all(Array.from({ length: 500 }, (_, index) => user.acquire(`key:${first + index}`)));
    }
    await delay(1_000);
    const more = timers.active - before;
    const heldSeconds = quick ? 12 : 60;
    let ownMs = 0;
    const result = await measure(counters, async () => {
      const cpuBefore = ownCpuMs();
      await delay(1_000 * heldSeconds);
      ownMs = ownCpuMs() - cpuBefore;
      return { ops: 1 };
    });
    return {
      heldSeconds,
      lost,
      ownCpuPercent: ownMs / (10 * heldSeconds),
      redisCpuPercent: Number(result.redisCpuUsPerOp) / (10_000 * heldSeconds),
      timers: more,
    };
  },
};
