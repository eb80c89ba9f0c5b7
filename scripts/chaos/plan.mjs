/**
 * One fault: how long to wait before it, what it is, whom it hits (each fault reads its own number out of `pick`, from 0
 * to 1), and for how long.
 *
 * @typedef {object} Step
 * @property {number} pauseMs
 * @property {string} kind
 * @property {number} pick
 * @property {number} share from 0 to 1, of the longest time that this kind of fault may take
 */

const PAUSE_MS = { min: 200, max: 900 };

/**
 * The faults of a run, one after another without end: the same ones for the same seed and the same kinds. Every kind
 * comes once before any comes again.
 *
 * @param {number} seed
 * @param {readonly string[]} kinds
 * @returns {Generator<Step, never>}
 */
export function* planOf(seed, kinds) {
  const random = randomOf(seed);
  for (;;) {
    for (const kind of shuffled(kinds, random)) {
      const pauseMs = Math.round(PAUSE_MS.min + random() * (PAUSE_MS.max - PAUSE_MS.min));
      yield { pauseMs, kind, pick: random(), share: random() };
    }
  }
}

/**
 * Numbers from 0 to 1 that look random and are the same for the same seed: mulberry32.
 *
 * @param {number} seed
 * @see https://gist.github.com/tommyettinger/46a874533244883189143505d203312c
 */
function randomOf(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/**
 * @param {readonly string[]} items
 * @param {() => number} random
 */
function shuffled(items, random) {
  const left = [...items];
  return items.map(() => left.splice(Math.floor(random() * left.length), 1)[0] ?? '');
}
