/**
 * What a round has found out; all of it is optional, since works differ.
 *
 * @typedef {{ [figure: string]: number | string | undefined }} RoundResult
 */

/** @returns {number} ms of CPU that this process has used */
export function ownCpuMs() {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

/**
 * Runs something between two readings of the counters.
 *
 * @param {import('./redis-counters.mjs').RedisCounters} counters
 * @param {() => Promise<{ ops: number, cpuMs?: number }>} run `cpuMs` when other processes did the work
 * @returns {Promise<RoundResult>}
 */
export async function measure(counters, run) {
  const before = await counters.read();
  const cpuBefore = ownCpuMs();
  const started = performance.now();
  const { ops, cpuMs } = await run();
  const seconds = (performance.now() - started) / 1_000;
  const ownMs = cpuMs ?? ownCpuMs() - cpuBefore;
  const { requests, publishes, redisCpuMs } = counters.between(before, await counters.read());
  return {
    ops,
    opsPerSecond: ops / seconds,
    requestsPerOp: requests / ops,
    redisCpuUsPerOp: (1_000 * redisCpuMs) / ops,
    ownCpuUsPerOp: (1_000 * ownMs) / ops,
    publishes,
  };
}
