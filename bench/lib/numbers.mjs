/**
 * @param {ArrayLike<number>} values
 * @returns {number} NaN when there are none
 */
export function median(values) {
  const sorted = Float64Array.from(values).sort();
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? at(sorted, middle) : (at(sorted, middle - 1) + at(sorted, middle)) / 2;
}

/**
 * p50, p99 and the longest of waits in ms.
 *
 * @param {ArrayLike<number>} waits with how long those have waited who still wait at the end: an unfair lock could hide
 *   whom it starves otherwise
 */
export function waitsOf(waits) {
  const sorted = Float64Array.from(waits).sort();
  const rank = (/** @type {number} */ share) => at(sorted, Math.max(0, Math.ceil(share * sorted.length) - 1));
  return { p50: rank(0.5), p99: rank(0.99), max: rank(1) };
}

/**
 * @param {Float64Array} values
 * @param {number} index
 */
function at(values, index) {
  return values[index] ?? NaN;
}
