import { checkHistory } from '../lib/history/history.mjs';

/** @typedef {import('../lib/history/critical-section.mjs').HoldRecord} HoldRecord */

/**
 * What a run has come to.
 *
 * @typedef {object} Run
 * @property {readonly HoldRecord[]} holds
 * @property {Record<string, number>} counters what the counter of each key has at the end
 * @property {Record<string, number>} faults how many were injected, by their kind
 * @property {number} ms for how long faults were injected
 * @property {readonly string[]} leftovers keys that are still there
 * @property {readonly string[]} crashes what processes have died of
 */

/**
 * @typedef {object} Figure
 * @property {string} name
 * @property {string | number} value
 * @property {boolean} good
 * @property {readonly string[]} details what is wrong, for somebody who looks into it
 */

/** So many acquisitions must have met another holder, or the run says too little. */
export const LEAST_CONTENDED = 1_000;
const LONGEST_BETWEEN_FAULTS_MS = 5_000;

/**
 * The eight figures of a run.
 *
 * @param {Run} run
 * @returns {Figure[]}
 */
export function figuresOf({ holds, counters, faults, ms, leftovers, crashes }) {
  const violations = checkHistory(holds, counters);
  const of = (/** @type {string} */ kind) => violations.flatMap((one) => (one.kind === kind ? [one.what] : []));
  const contended = contendedOf(holds);
  const injected = Object.values(faults).reduce((sum, count) => sum + count, 0);
  const kinds = Object.entries(faults).map(([kind, count]) => `${count} × ${kind}`);
  const isEnough = injected > 0 && ms / injected <= LONGEST_BETWEEN_FAULTS_MS;
  return [
    { name: 'contended acquisitions', value: contended, good: contended >= LEAST_CONTENDED, details: [] },
    { name: 'faults injected', value: `${injected} (${kinds.join(', ')})`, good: isEnough, details: [] },
    zero('overlaps of valid holds', of('overlap')),
    zero('tokens out of order', of('order')),
    zero('lost updates behind the fence', of('lost update')),
    { name: 'longest time nobody could lock', value: `${Math.round(longestGap(holds))} ms`, good: true, details: [] },
    zero('keys left over', leftovers),
    zero('unhandled rejections', crashes),
  ];
}

/** @param {readonly Figure[]} figures */
export function isGood(figures) {
  return figures.every(({ good }) => good);
}

/**
 * The figures as text, one a line; what is wrong comes before them.
 *
 * @param {readonly Figure[]} figures
 */
export function textOf(figures) {
  const width = Math.max(...figures.map(({ name }) => name.length));
  const wrong = figures.flatMap(({ name, details }) => details.slice(0, 10).map((detail) => `${name}: ${detail}`));
  const lines = figures.map(({ name, value, good }) => `${good ? ' ' : '✗'} ${name.padEnd(width)}  ${value}`);
  return [...wrong, ...lines].join('\n');
}

/**
 * @param {string} name
 * @param {readonly string[]} details
 * @returns {Figure}
 */
function zero(name, details) {
  return { name, value: details.length, good: details.length === 0, details };
}

/**
 * How many acquisitions met somebody, between their call and the moment they had the lock, who cannot be inside together
 * with them.
 *
 * @param {readonly HoldRecord[]} holds
 */
export function contendedOf(holds) {
  /** Until when each key was held so far, by number of permits. @type {Map<string, Map<number, number>>} */
  const heldUntil = new Map();
  let contended = 0;
  for (const { key, from, until, asked = from, permits = 1, limit = 1 } of byBeginning(holds)) {
    const before = heldUntil.get(key) ?? new Map();
    heldUntil.set(key, before);
    if ([...before].some(([theirs, end]) => theirs + permits > limit && end > asked)) contended++;
    before.set(permits, Math.max(before.get(permits) ?? 0, until));
  }
  return contended;
}

/** @param {readonly HoldRecord[]} holds */
function longestGap(holds) {
  const sorted = byBeginning(holds);
  return sorted.reduce((longest, { from }, index) => Math.max(longest, from - (sorted[index - 1]?.from ?? from)), 0);
}

/** @param {readonly HoldRecord[]} holds */
function byBeginning(holds) {
  return [...holds].sort((one, other) => one.from - other.from);
}
