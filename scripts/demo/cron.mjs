import { setTimeout as sleep } from 'node:timers/promises';

/** How long the job is watched; it is due every second. */
export const watchedSeconds = 22;

/**
 * @typedef {object} CronResult
 * @property {number} ticks seconds in which at least two nodes fired
 * @property {number} runs in these seconds
 * @property {number[]} byNode how many of these runs were on each node
 */

/**
 * Watches the scheduled job on all nodes.
 *
 * @param {import('./nodes.mjs').Nodes} nodes
 * @param {(second: number) => void} tell called every second
 */
export async function watchCron(nodes, tell) {
  const first = Math.ceil(Date.now() / 1000) + 1;
  const last = first + watchedSeconds - 1;
  for (let second = first; second <= last; second++) {
    await sleep(second * 1000 + 600 - Date.now());
    tell(second - first);
  }
  return countTicks(await nodes.stats(), first, last);
}

/**
 * @param {import('./nodes.mjs').NodeStats[]} stats of each node
 * @param {number} first second of the epoch, and the last one
 * @param {number} last
 * @returns {{ result: CronResult, wrongTicks: number }} `wrongTicks` are those without exactly one run
 */
export function countTicks(stats, first, last) {
  /** @type {CronResult} */
  const result = { ticks: 0, runs: 0, byNode: stats.map(() => 0) };
  let wrongTicks = 0;
  for (let second = first; second <= last; second++) {
    const byNode = stats.map(({ firings }) => firings.filter(({ at }) => secondOf(at) === second));
    if (byNode.filter((firings) => firings.length > 0).length < 2) continue;
    const runs = byNode.map((firings) => firings.filter(({ ran }) => ran).length);
    const total = runs.reduce((sum, count) => sum + count, 0);
    result.ticks++;
    result.runs += total;
    runs.forEach((count, node) => (result.byNode[node] = (result.byNode[node] ?? 0) + count));
    if (total !== 1) wrongTicks++;
  }
  return { result, wrongTicks };
}

/**
 * The second that a firing was meant for: timers may fire a little early.
 *
 * @param {number} at
 */
function secondOf(at) {
  return Math.floor((at + 20) / 1000);
}
