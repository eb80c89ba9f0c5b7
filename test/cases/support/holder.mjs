// A process that holds the lock "order" and does what an application does at SIGTERM. Its work ends when a line comes
// in, or never (`stubborn`). It says what happens to it, and ends by itself: no process.exit.
import { createLockClient } from 'nestjs-redis-lock';
import { createInterface } from 'node:readline';

const { url, prefix, ttl = '30s', drain = '10s', stubborn = false } = JSON.parse(process.argv[2] ?? '{}');

/** @param {string} event @param {object} [details] */
const say = (event, details) => process.stdout.write(`${JSON.stringify({ event, ...details })}\n`);

const locks = createLockClient({ connection: url, prefix, shutdown: { drain }, logger: { warn() {} } });
locks.events.on('released', ({ outcome }) => say('released', { outcome }));
locks.events.on('lost', ({ reason }) => say('lost', { reason }));

const input = createInterface({ input: process.stdin });
const told = new Promise((resolve) => input.once('line', resolve));

async function shutDown() {
  say('SIGTERM');
  const closing = locks.close();
  await locks.acquire('another', { wait: 0 }).catch(({ code }) => say('newcomer refused', { code }));
  await closing;
  say('closed');
  input.close();
  process.stdin.destroy();
}
process.once('SIGTERM', () => void shutDown());

const work = locks.run(
  'order',
  async ({ signal, fencingToken }) => {
    signal.addEventListener('abort', () => say('aborted', { reason: signal.reason.reason }));
    say('holding', { fencingToken });
    await (stubborn ? new Promise(() => {}) : told);
    // A lock inside of one that is held is still to be had.
    await locks.run('inner', () => say('inner work'));
    say('end of work');
  },
  { ttl },
);
await locks.acquire('order', { wait: '1m' }).catch(({ code }) => say('waiter refused', { code }));
if (!stubborn) await work;
