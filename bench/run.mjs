#!/usr/bin/env node
// This library, the floor and the peers on one private Redis, in one run. See README.md; `--json`: one object as the
// last line.
import { writeFileSync } from 'node:fs';
import { Cleanup, cleanUpOnSignals } from '../scripts/lib/cleanup.mjs';
import { startRedis } from '../scripts/lib/servers.mjs';
import { readOptions } from './lib/options.mjs';
import { setUp } from './lib/setup.mjs';
import { stopChildren } from './lib/start-child.mjs';

const cleanup = new Cleanup();
cleanUpOnSignals(cleanup);
try {
  const options = readOptions();
  await setUp(options);
  // Persistence is off: see startRedis.
  const redis = await startRedis();
  cleanup.add(() => redis.stop());
  cleanup.add(stopChildren); // before Redis: they would complain
  // What follows needs the packages.
  const { runBenchmark } = await import('./lib/benchmark.mjs');
  const { jsonReport, markdownReport, textReport } = await import('./lib/report.mjs');
  const run = await runBenchmark(options, redis.url);
  await cleanup.run();
  process.stdout.write(`\n${textReport(run)}`);
  if (options.page !== undefined) writeFileSync(options.page, markdownReport(run));
  if (options.json) process.stdout.write(`${jsonReport(run)}\n`);
  if ([...run.results.values()].flat().some(({ error }) => error !== undefined)) process.exitCode = 1;
} catch (error) {
  // What fails after a signal fails because everything is being stopped.
  if (!cleanup.started) {
    process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
    process.exitCode = 1;
  }
  await cleanup.run();
}
