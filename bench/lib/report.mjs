import { competitors } from '../competitors/index.mjs';
import { defaultRetryMs, works } from '../works/index.mjs';
import { cellsOf, markdownTable, textTable, usualColumns } from './table.mjs';

/**
 * @typedef {object} Run
 * @property {Record<string, string>} machine
 * @property {number} minutes
 * @property {boolean} quick
 * @property {number} rounds
 * @property {import('./figures.mjs').Results} results
 * @property {import('./figures.mjs').Held[]} figures
 * @property {string[]} doubts
 */

/** @param {import('./figures.mjs').Held} figure */
const verdict = ({ held }) => (held === undefined ? 'not measured' : held ? 'held' : 'NOT held');

/** @param {string} name */
function workOf(name) {
  return /** @type {import('../works/index.mjs').Work} */ (works.find((work) => work.name === name));
}

/**
 * For a terminal.
 *
 * @param {Run} run
 */
export function textReport({ results, figures, doubts }) {
  const tables = Array.from(results, ([name, rows]) => {
    const { title, columns = usualColumns } = workOf(name);
    return `${title}\n${textTable(cellsOf(rows, columns))}`;
  });
  const lines = figures.map((figure) => `${verdict(figure).padEnd(12)}  ${figure.figure}: ${figure.seen || '–'}`);
  return `${[...tables, lines.join('\n'), ...doubts].join('\n\n')}\n`;
}

/**
 * The page for the documentation.
 *
 * @param {Run} run
 */
export function markdownReport({ results, figures, machine, minutes, rounds, quick, doubts }) {
  const tables = Array.from(results, ([name, rows]) => {
    const { title, columns = usualColumns } = workOf(name);
    return `## ${title}\n\n${markdownTable(cellsOf(rows, columns))}`;
  });
  const held = [['figure', 'held', 'seen'], ...figures.map((one) => [one.figure, verdict(one), one.seen || '–'])];
  const settings = competitors
    .filter(({ group }) => group !== 'publish')
    .map(({ name, package: npm, settings: text }) => {
      const version = npm === undefined ? '' : (machine[npm] ?? '');
      return `- **${name}**${version && ` (${npm === name ? '' : `${npm} `}${version})`}: ${text}`;
    });
  const pauses = works.filter(({ retryMs }) => retryMs).map(({ name, retryMs }) => `${name} ${retryMs} ms`);
  const parts = [
    '# Benchmark',
    `Written by \`npm run bench\`. One run of ${minutes} minutes on one machine: compare what stands in one table, not ` +
      `the figures of two machines. ${quick ? 'A quick run: the rounds were too short to be quoted.' : ''}`.trim(),
    `Node ${machine.node}, Redis ${machine['redis-server']}, ${machine.cpu}. Medians of ${rounds} rounds, in which the competitors ` +
      'alternate; "max wait" is the longest of all rounds. Those who still wait at the end of a round count with what they have ' +
      'waited.',
    '## What has to hold',
    markdownTable(held),
    ...tables,
    '## Settings',
    'Each with its fastest sensible settings:',
    settings.join('\n'),
    `Peers that poll ask every ${defaultRetryMs} ms, the shortest default among them, or as fits the work best: ` +
      `${pauses.join(', ')}.`,
    'What each work does and how it is counted: see `bench/README.md`.',
    ...doubts,
  ];
  return `${parts.join('\n\n')}\n`;
}

/**
 * For --json.
 *
 * @param {Run} run
 */
export function jsonReport({ results, ...rest }) {
  return JSON.stringify({ ...rest, works: Object.fromEntries(results) });
}
