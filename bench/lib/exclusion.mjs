/** How many permits of which lock are taken in this process. More than there are end the round. */
export class Exclusion {
  #limit;
  /** @type {Map<string, number>} */
  #inside = new Map();

  /** @param {number} limit how many permits there are */
  constructor(limit) {
    this.#limit = limit;
  }

  /**
   * @param {string} key
   * @param {number} permits
   */
  enter(key, permits) {
    const inside = (this.#inside.get(key) ?? 0) + permits;
    if (inside > this.#limit) throw new Error(`Mutual exclusion is broken: too many callers are inside of "${key}"`);
    this.#inside.set(key, inside);
  }

  /**
   * @param {string} key
   * @param {number} permits
   */
  leave(key, permits) {
    const inside = (this.#inside.get(key) ?? 0) - permits;
    if (inside > 0) this.#inside.set(key, inside);
    else this.#inside.delete(key);
  }
}

/**
 * The same for several processes, by when each was inside: the monotonic clock is the machine's, not the process'.
 *
 * @param {Float64Array[]} held of each process: begin, end, permits, begin, end, permits, …
 * @param {number} [limit] how many permits there are
 */
export function checkNoOverlap(held, limit = 1) {
  const moments = held.flatMap((times) =>
    Array.from({ length: times.length / 3 }, (_, index) => {
      const [begin = 0, end = 0, permits = 0] = times.subarray(3 * index, 3 * index + 3);
      return [
        { at: begin, permits },
        { at: end, permits: -permits },
      ];
    }).flat(),
  );
  // Who leaves at the moment at which another one enters has left.
  moments.sort((a, b) => a.at - b.at || a.permits - b.permits);
  let inside = 0;
  for (const { permits } of moments) {
    inside += permits;
    if (inside > limit) throw new Error('Mutual exclusion is broken: too many processes were inside at once');
  }
}
