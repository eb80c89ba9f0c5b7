import { ownFair } from '../competitors/own.mjs';
import { sustain } from './sustained.mjs';

/**
 * What order costs must not depend on how many wait.
 *
 * @param {number} count
 * @returns {import('./index.mjs').Work}
 */
function fairWith(count) {
  return {
    name: `fair-${count}`,
    title: `\`fair: true\`: ${count.toLocaleString('en')} callers of one process on one key, again and again`,
    takes: ({ name }) => name === ownFair.name,
    run: (context) => sustain(context, count, () => 'key'),
  };
}

export const fairWorks = [10, 100, 1_000].map(fairWith);
