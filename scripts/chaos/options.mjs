import { parseArgs } from 'node:util';

export const TOPOLOGIES = /** @type {const} */ (['single', 'sentinel', 'cluster', 'redlock']);

/** @typedef {typeof TOPOLOGIES[number]} Topology */

/** The command line is wrong. */
export class UsageError extends Error {}

export const USAGE = `npm run chaos -- --topology ${TOPOLOGIES.join('|')} [--minutes 1] [--seed 1234] [--json]`;

/**
 * What the command line asks for.
 *
 * @param {string[]} args
 * @throws UsageError
 */
export function readOptions(args) {
  const { minutes, topology, seed, json } = parse(args);
  const known = TOPOLOGIES.find((name) => name === topology);
  if (!known) throw new UsageError(`--topology is ${shown(topology)}, but must be ${TOPOLOGIES.join(', ')}`);
  const ms = Number(minutes) * 60_000;
  if (!(ms >= 5_000 && ms <= 24 * 3_600_000)) {
    throw new UsageError(`--minutes is ${shown(minutes)}, but must be a number from 0.1 to 1440`);
  }
  const number = seed === undefined ? Math.floor(Math.random() * 2 ** 32) : Number(seed);
  if (seed === '' || !Number.isInteger(number) || number < 0 || number >= 2 ** 32) {
    throw new UsageError(`--seed is ${shown(seed)}, but must be a whole number from 0 to ${2 ** 32 - 1}`);
  }
  return { ms, topology: known, seed: number, json };
}

/** @param {string[]} args */
function parse(args) {
  try {
    return parseArgs({
      args,
      options: {
        minutes: { type: 'string', default: '1' },
        topology: { type: 'string' },
        seed: { type: 'string' },
        json: { type: 'boolean', default: false },
      },
    }).values;
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

/** @param {string | undefined} value */
function shown(value) {
  return value === undefined ? 'missing' : `"${value}"`;
}
