import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { median } from './numbers.mjs';
import { startChild } from './start-child.mjs';

/**
 * @typedef {object} Row what all rounds of a competitor say
 * @property {string} competitor
 * @property {import('../competitors/index.mjs').Competitor['group']} group
 * @property {number} rounds
 * @property {string} [unavailable] why it cannot do the work
 * @property {string} [error]
 * @property {{ [figure: string]: number }} figures medians; sums of what must not happen
 */

const sums = new Set(['failures', 'cutOff', 'bursts', 'lost', 'publishes']);
const highest = new Set(['max']);

/** A round takes a minute or two at most. */
const limitMs = 300_000;

/**
 * @param {import('./start-child.mjs').Job} job
 * @returns {Promise<Record<string, unknown>>}
 */
export async function runRound(job) {
  const child = startChild(job);
  try {
    const ended = once(child, 'exit').then(() => ({ error: new Error('The process ended without a result') }));
    const late = delay(limitMs, undefined, { ref: false }).then(() => ({ error: new Error('The round did not end') }));
    const [message] = await Promise.race([
      once(child, 'message'),
      Promise.race([ended, late]).then((result) => [result]),
    ]);
    return message;
  } finally {
    child.kill('SIGKILL');
  }
}

/**
 * Rounds of all competitors, alternating, so that a change of the machine meets all of them.
 *
 * @param {import('../works/index.mjs').Work} work
 * @param {import('../competitors/index.mjs').Competitor[]} competitors
 * @param {number} rounds
 * @param {(competitor: string) => Omit<import('./start-child.mjs').Job, 'work' | 'competitor'>} jobFor
 * @param {(round: number, competitor: string) => void} tell
 * @returns {Promise<Row[]>}
 */
export async function runWork(work, competitors, rounds, jobFor, tell) {
  /** @type {Map<string, Record<string, unknown>[]>} */
  const results = new Map(competitors.map(({ name }) => [name, []]));
  const names = [...results.keys()];
  for (let round = 0; round < rounds; round++) {
    for (let turn = 0; turn < names.length; turn++) {
      // Each round begins with another one.
      const name = names[(turn + round) % names.length] ?? '';
      const done = results.get(name) ?? [];
      if (done.some((result) => 'unavailable' in result || 'error' in result)) continue;
      tell(round, name);
      done.push(await runRound({ ...jobFor(name), work: work.name, competitor: name }));
    }
  }
  return competitors.map(({ name, group }) => ({ competitor: name, group, ...summary(results.get(name) ?? []) }));
}

/**
 * @param {Record<string, unknown>[]} results
 * @returns {Pick<Row, 'rounds' | 'unavailable' | 'error' | 'figures'>}
 */
function summary(results) {
  const failed = results.find((result) => 'unavailable' in result || 'error' in result);
  if (failed) {
    const { unavailable, error } = /** @type {{ unavailable?: string, error?: Error }} */ (failed);
    return { rounds: results.length, figures: {}, ...(error ? { error: error.message } : { unavailable }) };
  }
  /** @type {Row['figures']} */
  const figures = {};
  for (const name of Object.keys(results[0] ?? {})) {
    const values = results.map((result) => Number(result[name]));
    if (sums.has(name)) figures[name] = values.reduce((sum, value) => sum + value, 0);
    else figures[name] = highest.has(name) ? Math.max(...values) : median(values);
  }
  return { rounds: results.length, figures };
}
