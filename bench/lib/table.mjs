/** @typedef {import('../works/index.mjs').Column} Column */

const wantedBursts = 50;

/** @type {Column[]} */
export const usualColumns = [
  { title: 'ops/s', figure: 'opsPerSecond' },
  { title: 'p50 wait, ms', figure: 'p50', digits: 3 },
  { title: 'p99 wait, ms', figure: 'p99', digits: 3 },
  { title: 'max wait, ms', figure: 'max', digits: 1 },
  { title: 'requests/op', figure: 'requestsPerOp', digits: 2 },
  { title: 'Redis CPU, µs/op', figure: 'redisCpuUsPerOp', digits: 1 },
  { title: 'own CPU, µs/op', figure: 'ownCpuUsPerOp', digits: 1 },
];

/**
 * @param {import('./rounds.mjs').Row[]} rows
 * @param {Column[]} columns
 * @returns {string[][]} the head first
 */
export function cellsOf(rows, columns) {
  const remarks = rows.map(remarkOf);
  const remarked = remarks.some((remark) => remark !== '');
  const head = ['', ...columns.map(({ title }) => title), ...(remarked ? ['remarks'] : [])];
  const body = rows.map(({ competitor, figures }, index) => [
    competitor,
    ...columns.map(({ figure, digits = 0 }) => cell(figures[figure], digits)),
    ...(remarked ? [remarks[index] ?? ''] : []),
  ]);
  return [head, ...body];
}

/**
 * @param {number | undefined} value
 * @param {number} digits
 */
function cell(value, digits) {
  if (value === undefined || Number.isNaN(value)) return '–';
  return value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

/** @param {import('./rounds.mjs').Row} row */
function remarkOf({ unavailable, error, figures }) {
  if (unavailable !== undefined) return 'not available';
  if (error !== undefined) return error;
  const { failures = 0, cutOff = 0, bursts = 0 } = figures;
  const remarks = [];
  if (bursts > 0 && bursts < wantedBursts) remarks.push(`${bursts} bursts only`);
  if (cutOff > 0) remarks.push(`cut off: ${cutOff} of ${bursts} bursts`);
  if (failures > 0) remarks.push(`failed: ${failures}`);
  return remarks.join(', ');
}

/**
 * For a terminal: words to the left, numbers to the right.
 *
 * @param {string[][]} rows
 */
export function textTable(rows) {
  const [head = []] = rows;
  const widths = head.map((_, column) => Math.max(...rows.map((row) => (row[column] ?? '').length)));
  const isWord = (/** @type {number} */ column) => column === 0 || head[column] === 'remarks';
  const lines = rows.map((row) =>
    row
      .map((text, column) => (isWord(column) ? text.padEnd(widths[column] ?? 0) : text.padStart(widths[column] ?? 0)))
      .join('  ')
      .trimEnd(),
  );
  const [first = '', ...rest] = lines;
  return [first, '-'.repeat(Math.max(...lines.map((line) => line.length))), ...rest].join('\n');
}

/**
 * As Prettier would write it.
 *
 * @param {string[][]} rows
 */
export function markdownTable(rows) {
  const [head = [], ...body] = rows.map((row) => row.map((text) => text.replaceAll('|', '\\|')));
  const isWord = (/** @type {number} */ column) =>
    column === 0 || ['remarks', 'seen', 'held'].includes(head[column] ?? '');
  const widths = head.map((_, column) => Math.max(3, ...[head, ...body].map((row) => (row[column] ?? '').length)));
  const line = (/** @type {string[]} */ row) => {
    const cells = row.map((text, column) =>
      isWord(column) ? text.padEnd(widths[column] ?? 0) : text.padStart(widths[column] ?? 0),
    );
    return `| ${cells.join(' | ')} |`;
  };
  const rule = widths.map((width, column) => (isWord(column) ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`));
  return [line(head), `| ${rule.join(' | ')} |`, ...body.map(line)].join('\n');
}
