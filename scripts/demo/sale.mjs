import { burst } from './burst.mjs';

export const sale = { stock: 100, users: 300, clicks: 3 };

/** @typedef {'in-process' | 'simple' | 'locked'} Route */

/** @type {Record<Route, string>} what follows the path of the voucher */
const suffixes = { 'in-process': '/in-process', simple: '/simple', locked: '' };

/** @type {Route[]} */
export const routes = ['in-process', 'simple', 'locked'];

/**
 * @typedef {object} SaleOnly
 * @property {number} orders
 * @property {number} duplicates orders of users who had one already
 * @property {number} oversold orders beyond the stock
 * @property {number} stockLeft
 * @property {number} indexHits how often the unique index refused an order
 *
 * @typedef {import('./burst.mjs').BurstResult & SaleOnly} SaleResult
 */

/**
 * One flash sale of a new voucher.
 *
 * @param {Route} route
 * @param {import('./nodes.mjs').Nodes} nodes
 * @param {import('./database.mjs').Database} database
 * @returns {Promise<SaleResult>}
 */
export async function runSale(route, nodes, database) {
  const voucherId = await database.newVoucher(sale.stock);
  const hitsBefore = await nodes.indexHits();
  const path = `/voucher-order/seckill/${voucherId}${suffixes[route]}`;
  const { requests, answers, ms } = await burst(
    nodes.urls.map((url) => url + path),
    sale.users,
    sale.clicks,
  );
  const { orders, users, stockLeft } = await database.soldOf(voucherId);
  return {
    requests,
    answers,
    orders,
    duplicates: orders - users,
    oversold: Math.max(0, orders - sale.stock),
    stockLeft,
    indexHits: (await nodes.indexHits()) - hitsBefore,
    ms,
  };
}
