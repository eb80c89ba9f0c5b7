// A process with many callers that take locks, stay in their critical section for a moment, and say for how long they
// held what. It goes on until a line comes in, or its input is closed. `servers` are the options of its client that say where the locks are;
// `library` is the path of another copy of the library, `kind` is 'plain', 'semaphore' or 'read/write', and
// `kinds` those of single keys.
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { clock, CriticalSection } from './critical-section.mjs';
import { FencedCounter } from './fenced-counter.mjs';

const {
  name,
  servers,
  counterUrl,
  prefix,
  keys,
  callers,
  fair = 0,
  ttls = [500, 900],
  kind = 'plain',
  kinds = {},
  library,
} = JSON.parse(process.argv[2] ?? '{}');
/** @type {typeof import('nestjs-redis-lock')} */
const { createLockClient, isLockError } = await import(library ?? 'nestjs-redis-lock');

/** @param {string} event @param {object} [details] */
const say = (event, details) => process.stdout.write(`${JSON.stringify({ event, ...details })}\n`);

/** @param {number} most */
const upTo = (most) => Math.random() * most;

const locks = createLockClient({ ...servers, prefix, shutdown: { drain: '5s' }, logger: { warn() {} } });
const counter = new FencedCounter(counterUrl);
let finished = false;

/** As many as can read together. */
const READERS = 1_000;

/**
 * What a caller asks for, and what that is in the history.
 *
 * @param {'plain' | 'semaphore' | 'read/write'} of
 * @returns {{ asks: import('nestjs-redis-lock').LockOptions, is: { permits?: number, limit?: number } }}
 */
function anyShare(of) {
  if (of === 'plain') return { asks: {}, is: {} };
  if (of === 'semaphore') {
    const take = Math.random() < 0.2 ? 3 : 1;
    return { asks: { permits: 4, take }, is: { permits: take, limit: 4 } };
  }
  const writes = Math.random() < 0.2;
  return { asks: { mode: writes ? 'write' : 'read' }, is: { permits: writes ? READERS : 1, limit: READERS } };
}

/** @param {string} who */
async function call(who) {
  const caller = new AbortController();
  const leaving = Math.random() < 0.15 ? setTimeout(() => caller.abort(), upTo(60)) : undefined;
  const key = keys[Math.floor(upTo(keys.length))];
  const { asks, is } = anyShare(kinds[key] ?? kind);
  // The counter is no help where others may be inside as well.
  const isAlone = is.permits === is.limit;
  const options = {
    ...asks,
    ttl: ttls[Math.floor(upTo(ttls.length))],
    wait: Math.random() < 0.2 ? Math.floor(upTo(100)) : 5_000,
  };
  const asked = clock();
  const lock = await locks
    .acquire(key, { ...options, ...(Math.random() < fair ? { fair: true } : {}), signal: caller.signal })
    .finally(() => clearTimeout(leaving));
  const section = new CriticalSection(lock, who);
  const read = isAlone ? await counter.read(key, lock.fencingToken) : undefined;
  const { from, deadline } = section;
  say('began', {
    key,
    token: lock.fencingToken,
    who,
    from,
    until: deadline,
    read,
    ...(isAlone ? { write: 'unknown' } : {}),
    ...is,
  });
  await sleep(upTo(8));
  section.look();
  const write = read === undefined ? 'rejected' : await counter.write(key, lock.fencingToken, read + 1);
  say('held', section.end({ ...is, asked, write, ...(read === undefined ? {} : { read }) }));
  await lock.release();
}

/** @param {string} who */
async function callAgainAndAgain(who) {
  while (!finished) {
    try {
      await call(who);
    } catch (error) {
      if (!isLockError(error) || error.code === 'LOCK_ARGUMENT') throw error;
      await sleep(upTo(20));
    }
  }
}

const input = createInterface({ input: process.stdin });
const running = Array.from({ length: callers }, async (_, caller) => callAgainAndAgain(`${name}.${caller}`));
await Promise.race([once(input, 'line'), once(input, 'close'), Promise.all(running)]);
finished = true;
await Promise.all(running);
await locks.close();
counter.close();
input.close();
process.stdin.destroy();
say('closed');
