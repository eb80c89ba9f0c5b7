import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { FencedCounter } from '../lib/history/fenced-counter.mjs';
import { startRedis } from '../lib/servers.mjs';
import { ask } from '../lib/topologies/ask.mjs';
import { LEASES_MS, PLAIN, SHARED } from './locks.mjs';
import { planOf } from './plan.mjs';
import { contendedOf, LEAST_CONTENDED } from './report.mjs';
import { start } from './topologies.mjs';
import { Workers } from './workers.mjs';

/** @typedef {import('./topologies.mjs').Servers} Servers */

const PROCESSES = 4;
const CALLERS = 5;

/** How long a stopped process stays so at most, in ms: longer than a lease, and than a grant that it has not confirmed. */
const STOPPED_MS = 3_500;

/** A machine that is too slow for enough acquisitions has so many times as long. */
const LONGER = 4;

/** How long what is left may need to end by itself, in ms: a queue that nobody asks for any more. */
const ENDS_BY_ITSELF_MS = 20_000;

/**
 * Lets processes contend for locks while faults are injected, one after another.
 *
 * @param {Pick<ReturnType<typeof import('./options.mjs').readOptions>, 'ms' | 'topology' | 'seed'>} options
 * @param {import('../lib/cleanup.mjs').Cleanup} cleanup
 * @param {{ library?: string, said?: (line: string) => void }} [more] the path of another copy of the library
 * @returns {Promise<import('./report.mjs').Run>}
 */
export async function run({ ms, topology, seed }, cleanup, { library, said = () => undefined } = {}) {
  const servers = await start[topology]();
  cleanup.add(servers.stop);
  // What judges the locks has a server of its own, to which nothing happens.
  const judge = await startRedis();
  cleanup.add(async () => judge.stop());
  const kinds = servers.shares ? { ...PLAIN, ...SHARED } : PLAIN;
  const keys = Object.keys(kinds);
  const prefix = `chaos-${randomBytes(4).toString('hex')}`;
  const workers = new Workers(PROCESSES, {
    servers: servers.options,
    counterUrl: judge.url,
    prefix,
    keys,
    kinds,
    callers: CALLERS,
    ttls: LEASES_MS,
    fair: servers.shares ? 0.2 : 0,
    library,
  });
  cleanup.add(() => workers.kill());
  await workers.untilAllWork();

  /** @type {Record<string, import('./topologies.mjs').Fault>} */
  const faults = {
    ...servers.faults,
    'process stopped': (pick, share) => workers.stop(pick, 100 + share * STOPPED_MS),
    'process killed': async (pick) => workers.replace(pick),
  };
  /** @type {Record<string, number>} */
  const injected = {};
  const began = performance.now();
  const isOver = (/** @type {number} */ elapsed) =>
    elapsed >= ms && (elapsed >= LONGER * ms || contendedOf(workers.holds) >= LEAST_CONTENDED);
  for (const { pauseMs, kind, pick, share } of planOf(seed, Object.keys(faults))) {
    await sleep(pauseMs);
    if (isOver(performance.now() - began)) break;
    said(`${((performance.now() - began) / 1000).toFixed(1).padStart(6)} s  ${kind}`);
    injected[kind] = (injected[kind] ?? 0) + 1;
    await faults[kind]?.(pick, share);
  }
  const lasted = performance.now() - began;
  await workers.finish();
  return {
    holds: workers.holds,
    counters: await valuesOf(judge.url, keys),
    faults: injected,
    ms: lasted,
    leftovers: await leftoversOf(servers, prefix),
    crashes: workers.crashes,
  };
}

/**
 * @param {string} url
 * @param {readonly string[]} keys
 */
async function valuesOf(url, keys) {
  const counter = new FencedCounter(url);
  const values = await Promise.all(keys.map(async (key) => /** @type {const} */ ([key, await counter.value(key)])));
  counter.close();
  return Object.fromEntries(values);
}

/**
 * What is left of the locks but the fence, once what ends by itself has ended.
 *
 * @param {Servers} servers
 * @param {string} prefix
 */
async function leftoversOf({ nodes }, prefix) {
  const deadline = performance.now() + ENDS_BY_ITSELF_MS;
  for (;;) {
    const names = await Promise.all(nodes.map(async (node) => ask(node, 'KEYS', `${prefix}:*`)));
    const left = /** @type {string[]} */ (names.flat()).filter((name) => !name.startsWith(`${prefix}:fence`));
    if (left.length === 0 || performance.now() > deadline) return [...new Set(left)];
    await sleep(200);
  }
}
