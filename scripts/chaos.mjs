#!/usr/bin/env node
// Processes contend for locks while servers and processes fail, as drawn from a seed. See docs/chaos.md.
import { figuresOf, isGood, textOf } from './chaos/report.mjs';
import { readOptions, USAGE, UsageError } from './chaos/options.mjs';
import { run } from './chaos/run.mjs';
import { Cleanup, cleanUpOnSignals } from './lib/cleanup.mjs';

const COULD_NOT_RUN = 2;

const cleanup = new Cleanup();
cleanUpOnSignals(cleanup);

async function main() {
  const options = readOptions(process.argv.slice(2));
  const { topology, seed, ms, json } = options;
  const say = (/** @type {string} */ line) => void (json || process.stdout.write(`${line}\n`));
  say(`${topology}, ${ms / 1000} s, --seed ${seed}`);
  const figures = figuresOf(await run(options, cleanup, { said: say }));
  say(textOf(figures));
  if (json) process.stdout.write(`${JSON.stringify({ topology, seed, ms, good: isGood(figures), figures })}\n`);
  else if (!isGood(figures))
    say(`Once more: npm run chaos -- --topology ${topology} --minutes ${ms / 60_000} --seed ${seed}`);
  return isGood(figures) ? 0 : 1;
}

try {
  process.exitCode = await main();
} catch (error) {
  const text = error instanceof UsageError ? `${error.message}\n${USAGE}` : error;
  if (!cleanup.started) console.error(text);
  process.exitCode = COULD_NOT_RUN;
} finally {
  await cleanup.run();
}
