/** Who is inside of which lock in this process. Two at once end the round. */
export class Exclusion {
  /** @type {Set<string>} */
  #inside = new Set();

  /** @param {string} key */
  enter(key) {
    if (this.#inside.has(key)) throw new Error(`Mutual exclusion is broken: two callers are inside of "${key}"`);
    this.#inside.add(key);
  }

  /** @param {string} key */
  leave(key) {
    this.#inside.delete(key);
  }
}

/**
 * The same for several processes, by when each was inside: the monotonic clock is the machine's, not the process'.
 *
 * @param {Float64Array[]} held of each process: begin, end, begin, end, …
 */
export function checkNoOverlap(held) {
  const spans = held
    .flatMap((times) => Array.from({ length: times.length / 2 }, (_, index) => times.slice(2 * index, 2 * index + 2)))
    .sort((a, b) => Number(a[0]) - Number(b[0]));
  for (const [index, span] of spans.entries()) {
    const next = spans[index + 1];
    if (next && Number(next[0]) < Number(span[1])) {
      throw new Error('Mutual exclusion is broken: two processes were inside at once');
    }
  }
}
