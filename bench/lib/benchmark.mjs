import { Progress } from '../../scripts/demo/progress.mjs';
import { competitors as all } from '../competitors/index.mjs';
import { scout } from '../works/scout.mjs';
import { defaultRetryMs, works } from '../works/index.mjs';
import { figuresOf } from './figures.mjs';
import { machineOf } from './machine.mjs';
import { runRound, runWork } from './rounds.mjs';

/**
 * @param {import('./options.mjs').Options} options
 * @param {string} url
 * @returns {Promise<import('./report.mjs').Run>}
 */
export async function runBenchmark({ lib, retryMs, quick, only, among }, url) {
  const unknown = only?.filter((name) => !works.some((work) => work.name === name)) ?? [];
  if (unknown.length > 0) {
    throw new Error(`There is no ${unknown.join(', ')}; known are ${works.map(({ name }) => name).join(', ')}`);
  }
  const competitors = all.filter(({ name }) => among?.some((part) => name.includes(part)) ?? true);
  const started = performance.now();
  const rounds = quick ? 2 : 7;
  const chosen = works
    .filter(({ name }) => only?.includes(name) ?? true)
    .map((work) => ({ work, takers: competitors.filter(work.takes), rounds: Math.min(rounds, work.rounds ?? rounds) }));
  const steps = chosen.reduce((sum, { takers, rounds }) => sum + rounds * takers.length, competitors.length);
  const progress = new Progress(steps);
  const base = { url, lib, retryMs: retryMs ?? defaultRetryMs, quick };

  /** @type {Map<string, string[]>} */
  const nested = new Map();
  const doubts = [];
  // Who takes no lock has no scripts, and of who has servers of its own no requests are counted.
  const isCounted = ({ group }) => !['publish', 'nodes', 'replicas'].includes(group);
  const [others, lockers] = [competitors.filter((one) => !isCounted(one)), competitors.filter(isCounted)];
  others.forEach(() => progress.step());
  for (const { name } of lockers) {
    progress.begin('Which commands are requests');
    const found = /** @type {{ nested?: string, both?: string, error?: Error }} */ (
      await runRound({ ...base, nested: [], work: scout.name, competitor: name })
    );
    if (found.error) throw found.error;
    nested.set(name, found.nested?.split(' ') ?? []);
    if (found.both) doubts.push(`${name} sends ${found.both} both by itself and in scripts: "requests" counts both.`);
    progress.step();
  }

  /** @type {import('./figures.mjs').Results} */
  const results = new Map();
  for (const { work, takers, rounds } of chosen) {
    const patience = { retryMs: retryMs ?? work.retryMs ?? defaultRetryMs };
    const jobFor = (/** @type {string} */ name) => ({ ...base, ...patience, nested: nested.get(name) ?? [] });
    const rows = await runWork(work, takers, rounds, jobFor, (round) => {
      progress.begin(`${work.title}: round ${round + 1} of ${rounds}`);
      progress.step();
    });
    results.set(work.name, rows);
  }
  progress.end();
  const minutes = Math.round((performance.now() - started) / 6_000) / 10;
  return { machine: await machineOf(url), minutes, quick, rounds, results, figures: figuresOf(results), doubts };
}
