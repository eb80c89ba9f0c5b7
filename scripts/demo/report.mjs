import { routes, sale } from './sale.mjs';

/** @type {Record<import('./sale.mjs').Route, string>} */
const guards = {
  'in-process': 'in-process: a mutex in each node',
  simple: 'simple: fixed lease in Redis',
  locked: 'locked: @Locked, renewed',
};

/**
 * The results for people.
 *
 * @param {import('./claims.mjs').Results} results
 */
export function report({ unprotected, protected: guarded, cron, takeover }) {
  const nodes = cron.byNode.map((runs, index) => `node ${index + 1}: ${runs}`).join(', ');
  return `
${sale.stock} in stock, ${sale.users} users, each clicks ${sale.clicks} times on 3 nodes at once.

Table A: the lock alone (unique index and stock condition are off)
${saleTable(unprotected)}
The key order:<userId>:<voucherId> covers one order a user: no duplicates where all nodes see the lock.
It does not cover the stock, which all users share: that takes the condition in the statement (table B).

Table B: the lock, the unique index on user + voucher, and "stock > 0" in the statement
${saleTable(guarded)}
"index" counts the orders that got past the lock and were refused by the unique index, the last line of defence.

Cron: ${cron.ticks} ticks, ${cron.runs} runs (${nodes}). Three nodes fire every second, one of them runs the job.

Takeover: the holder was killed right after a renewal, and the next one had the lock ${takeover.ms} ms later.
The lease was ${takeover.ttl} ms: that is what a crash costs, and why a lease is not as long as the work may take.
`;
}

/** @param {Record<import('./sale.mjs').Route, import('./sale.mjs').SaleResult>} results */
function saleTable(results) {
  const head = ['guard', 'requests', 'answers', 'orders', 'duplicates', 'oversold', 'stock left', 'index', 'ms'];
  const rows = routes.map((route) => {
    const { requests, answers, orders, duplicates, oversold, stockLeft, indexHits, ms } = results[route];
    const statuses = Object.entries(answers).map(([status, count]) => `${count} × ${status}`);
    return [guards[route], requests, statuses.join(', '), orders, duplicates, oversold, stockLeft, indexHits, ms];
  });
  return table([head, ...rows]);
}

/**
 * Words to the left, numbers to the right.
 *
 * @param {(string | number)[][]} rows the head first
 */
function table(rows) {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => String(row[column]).length)));
  const line = (/** @type {(string | number)[]} */ row) =>
    row
      .map((cell, column) => {
        const isNumber = typeof rows[1]?.[column] === 'number';
        return isNumber ? String(cell).padStart(widths[column] ?? 0) : String(cell).padEnd(widths[column] ?? 0);
      })
      .join('  ');
  const [head = '', ...body] = rows.map(line);
  return [head, '-'.repeat(head.length), ...body].join('\n');
}
