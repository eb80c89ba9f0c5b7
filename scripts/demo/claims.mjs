import { watchedSeconds } from './cron.mjs';
import { routes, sale } from './sale.mjs';

const expectedAnswers = ['201', '400', '429'];

/**
 * @typedef {object} Results what --json prints
 * @property {Record<import('./sale.mjs').Route, import('./sale.mjs').SaleResult>} unprotected
 * @property {Record<import('./sale.mjs').Route, import('./sale.mjs').SaleResult>} protected
 * @property {import('./cron.mjs').CronResult} cron
 * @property {{ ms: number, ttl: number }} takeover
 */

/**
 * What the demo claims and these results do not show.
 *
 * @param {Results} results
 * @param {number} wrongTicks
 * @returns {string[]}
 */
export function brokenClaims({ unprotected, protected: guarded, cron, takeover }, wrongTicks) {
  /** @type {[claim: string, holds: boolean][]} */
  const claims = [
    [
      'A: without the safety nets the lock in the process lets duplicates through',
      unprotected['in-process'].duplicates > 0,
    ],
    ['A: the fixed lease lets no duplicate through', unprotected.simple.duplicates === 0],
    ['A: the renewed lock lets no duplicate through', unprotected.locked.duplicates === 0],
    ['B: under the renewed lock the unique index never has to step in', guarded.locked.indexHits === 0],
    [`Cron: there were at least ${watchedSeconds - 2} ticks`, cron.ticks >= watchedSeconds - 2],
    ['Cron: runs = ticks, one run in each', cron.runs === cron.ticks && wrongTicks === 0],
    ['Takeover: after the lease of the killed holder, not before', takeover.ms >= takeover.ttl / 2],
    ['Takeover: at most 1 s later', takeover.ms <= takeover.ttl + 1_000],
  ];
  for (const route of routes) {
    const { orders, duplicates, oversold } = guarded[route];
    const sold = orders === sale.stock && duplicates === 0 && oversold === 0;
    claims.push([`B: ${route} sells exactly ${sale.stock}, one a user`, sold]);
    const answers = { ...unprotected[route].answers, ...guarded[route].answers };
    claims.push([
      `${route}: answers ${expectedAnswers.join(', ')} and nothing else`,
      Object.keys(answers).every((status) => expectedAnswers.includes(status)),
    ]);
  }
  return claims.filter(([, holds]) => !holds).map(([claim]) => claim);
}
