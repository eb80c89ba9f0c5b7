#!/usr/bin/env node
// A flash sale on three nodes, a scheduled job and a crash, with figures. `--json`: the figures as the last line.
import { brokenClaims } from './demo/claims.mjs';
import { Cleanup, cleanUpOnSignals } from './lib/cleanup.mjs';
import { watchCron, watchedSeconds } from './demo/cron.mjs';
import { Database } from './demo/database.mjs';
import { Nodes } from './demo/nodes.mjs';
import { Progress } from './demo/progress.mjs';
import { report } from './demo/report.mjs';
import { routes, runSale } from './demo/sale.mjs';
import { startServers, UnreachableError } from './demo/servers.mjs';
import { measureTakeover } from './demo/takeover.mjs';

const json = process.argv.includes('--json');
const cleanup = new Cleanup();
const progress = new Progress(1 + 2 * (1 + routes.length) + watchedSeconds);

/**
 * @template T
 * @param {string} label
 * @param {() => Promise<T>} work
 */
async function step(label, work) {
  progress.begin(label);
  const result = await work();
  progress.step();
  return result;
}

/**
 * Three nodes with a fresh database, and a sale by each route.
 *
 * @param {string} table
 * @param {import('./demo/servers.mjs').Servers} servers
 * @param {'on' | 'off'} safetyNets
 */
async function runTable(table, { redisUrl, databaseUrl, name }, safetyNets) {
  const { nodes, database } = await step(`Table ${table}: starting three nodes`, async () => {
    const database = await Database.create(databaseUrl, `${name}_${table.toLowerCase()}`, cleanup);
    const env = {
      REDIS_URL: redisUrl,
      REDIS_PREFIX: name,
      DATABASE_URL: database.url,
      FLASH_SALE_SAFETY_NETS: safetyNets,
    };
    return { nodes: await Nodes.start(env, cleanup), database };
  });
  const results = /** @type {import('./demo/claims.mjs').Results['protected']} */ ({});
  for (const route of routes) {
    results[route] = await step(`Table ${table}: ${route}`, () => runSale(route, nodes, database));
  }
  return { nodes, results };
}

async function run() {
  const servers = await step('Redis and MariaDB', () => startServers(cleanup));
  const { redisUrl, name } = servers;
  const unprotected = await runTable('A', servers, 'off');
  await unprotected.nodes.stop();
  const guarded = await runTable('B', servers, 'on');
  progress.begin('Cron and takeover');
  const [{ result: cron, wrongTicks }, takeover] = await Promise.all([
    watchCron(guarded.nodes, () => progress.step()),
    measureTakeover({ redisUrl, prefix: `${name}:takeover`, cleanup }),
  ]);
  const results = { unprotected: unprotected.results, protected: guarded.results, cron, takeover };
  return { results, broken: brokenClaims(results, wrongTicks) };
}

cleanUpOnSignals(cleanup);
try {
  const { results, broken } = await run();
  await cleanup.run();
  progress.end();
  if (!json) console.log(report(results));
  for (const claim of broken) console.error(`This claim did not hold: ${claim}`);
  if (broken.length > 0) process.exitCode = 1;
  if (json) console.log(JSON.stringify(results));
} catch (error) {
  // What fails after a signal fails because everything is being stopped.
  if (!cleanup.started) {
    progress.end();
    console.error(error instanceof UnreachableError ? error.message : error);
    process.exitCode = 1;
  }
  await cleanup.run();
}
