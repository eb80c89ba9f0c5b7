import { Callers } from '../lib/callers.mjs';
import { waitsOf } from '../lib/numbers.mjs';

const columns = [
  { title: 'ops/s', figure: 'opsPerSecond' },
  { title: 'p50 wait, ms', figure: 'p50', digits: 3 },
  { title: 'p99 wait, ms', figure: 'p99', digits: 3 },
];

/**
 * One caller on servers that the competitor has started itself.
 *
 * @param {import('./index.mjs').RoundContext} context
 */
async function one({ open, seconds, quick }) {
  const callers = new Callers(await open());
  callers.start(1, (_, turn) => `key:${turn}`);
  await callers.during(quick ? 200 : 500);
  const started = performance.now();
  const { ops } = await callers.record(1_000 * seconds);
  const opsPerSecond = (1_000 * ops) / (performance.now() - started);
  callers.stop();
  return { ops, opsPerSecond, ...waitsOf(callers.waits), failures: callers.failures };
}

/** @type {import('./index.mjs').Work} */
export const nodes = {
  name: 'nodes',
  title: 'One caller, a new key each time, on five independent servers',
  takes: ({ group }) => group === 'nodes',
  columns,
  run: one,
};

/** @type {import('./index.mjs').Work} */
export const replicas = {
  name: 'replicas',
  title: 'One caller, a new key each time, while other locks wait for a replica',
  takes: ({ group }) => group === 'replicas',
  columns,
  run: one,
};
