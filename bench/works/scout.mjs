import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';

/**
 * No work, but what has to be known before: which commands a competitor sends from inside of its scripts only. The
 * counters of Redis count those too, MONITOR tells them apart, and would slow down a round that is measured.
 *
 * @type {import('./index.mjs').Work}
 */
export const scout = {
  name: 'scout',
  title: 'Which commands are requests',
  takes: () => true,
  rounds: 1,
  async run({ open, url }, { waits }) {
    const users = [await open(), await open()];
    const once = async (/** @type {number} */ caller, /** @type {string} */ key) => {
      const release = await users[caller % 2]?.acquire(key);
      await delay(1);
      await release?.();
    };
    const callers = waits === false ? 1 : 20;
    const contend = async (/** @type {number} */ caller) => {
      for (let turn = 0; turn < 3; turn++) await once(caller, 'key');
      await once(caller, `key:${caller}`);
    };
    const all = () => Promise.all(Array.from({ length: callers }, (_, caller) => contend(caller)));
    await all(); // what is sent once, when a connection is made, is no part of an operation
    const redis = new Redis(url);
    const monitor = await redis.monitor();
    /** @type {Set<string>} */
    const sent = new Set();
    /** @type {Set<string>} */
    const nested = new Set();
    monitor.on('monitor', (_time, /** @type {string[]} */ [name = ''], /** @type {string} */ source) => {
      (source === 'lua' ? nested : sent).add(name.toLowerCase());
    });
    await all();
    await delay(100);
    const both = [...nested].filter((name) => sent.has(name));
    return { nested: [...nested].filter((name) => !sent.has(name)).join(' '), both: both.join(' ') };
  },
};
