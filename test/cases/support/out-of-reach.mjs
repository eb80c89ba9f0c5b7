// A process whose Redis goes away while it holds locks, queues for them and releases them. It says how each of that
// ended, and then ends by itself: no process.exit, so a timer or a socket that was left would keep it alive.
import { createLockClient } from 'nestjs-redis-lock';
import { setTimeout as sleep } from 'node:timers/promises';

const { url, prefix, unhandled } = JSON.parse(process.argv[2] ?? '{}');

/** @param {string} event @param {object} [details] */
const say = (event, details) => process.stdout.write(`${JSON.stringify({ event, ...details })}\n`);

/**
 * How many of these ended in which way.
 *
 * @param {Promise<unknown>[]} promises
 */
async function tally(promises) {
  /** @type {Record<string, number>} */
  const counts = {};
  for (const result of await Promise.allSettled(promises)) {
    const name = result.status === 'fulfilled' ? String(result.value) : (result.reason.code ?? String(result.reason));
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
}

if (unhandled) {
  void Promise.reject(new Error('nobody handles this'));
} else {
  const locks = createLockClient({
    connection: url,
    prefix,
    commandTimeout: 200,
    shutdown: { drain: 0 },
    logger: { warn() {} },
  });
  const names = Array.from({ length: 20 }, (_, n) => `order ${n}`);

  let holding = 0;
  /** @type {() => void} */
  let allHeld = () => {};
  const everybodyHolds = new Promise((resolve) => (allHeld = () => resolve(undefined)));
  const held = names.map(async (name, n) =>
    locks.run(
      name,
      async ({ signal }) => {
        if (++holding === names.length) allHeld();
        while (!signal.aborted) await sleep(10);
      },
      { ttl: 900 + 10 * n },
    ),
  );
  const toRelease = await Promise.all(names.map(async (name) => locks.acquire(`${name}, handle`, { ttl: '1m' })));
  await everybodyHolds;
  say('holding');

  // The parent takes Redis away; the first failure tells.
  await new Promise((resolve) => locks.events.once('renewalFailed', resolve));
  const queued = names.map(async (name) => locks.acquire(`${name}, other`, { wait: 600, ttl: 400 }));
  const released = toRelease.map(async (lock) => {
    await lock.extend().catch(() => undefined);
    return lock.release();
  });
  for (const name of names) {
    const caller = new AbortController();
    locks.acquire(name, { wait: Infinity, signal: caller.signal }).catch(() => undefined);
    locks.isLocked(name).catch(() => undefined);
    setTimeout(() => caller.abort(), 100);
  }
  const [heldAs, queuedAs, releasedAs] = await Promise.all([held, queued, released].map(tally));
  say('settled', { outcomes: { held: heldAs, queued: queuedAs, released: releasedAs } });
  await locks.close();
  say('closed');
}
