// A process that takes locks as it is told, and says what becomes of each. It keeps a lock until a line says
// `release <key>`. Further lines: `block <ms>` keeps its event loop busy, `cpu` says how much of a core it has used.
// `wait` may ask for several `callers` of one key; with `late` it asks at the line `ask`. At SIGTERM it closes its
// client, and ends by itself.
import { createLockClient } from 'nestjs-redis-lock';
import { createInterface } from 'node:readline';

/** @type {{ url: string, prefix: string, drain?: import('nestjs-redis-lock').Duration, hold?: Wish[], wait?: Wish[], late?: boolean }} */
const { url, prefix, drain = '10s', hold = [], wait = [], late = false } = JSON.parse(process.argv[2] ?? '{}');

/** @typedef {{ key: string, options?: object, callers?: number }} Wish */

/** @param {string} event @param {object} [details] */
const say = (event, details) => process.stdout.write(`${JSON.stringify({ event, ...details })}\n`);

const locks = createLockClient({ connection: url, prefix, shutdown: { drain }, logger: { warn() {} } });
locks.events.on('lost', ({ key, reason }) => say('lost', { key, reason }));

/** @type {Map<string, () => void>} */
const releases = new Map();

/** @param {Wish} wish */
async function work({ key, options }) {
  try {
    await locks.run(
      key,
      async (lock) => {
        const { fencingToken, held } = lock;
        const told = new Promise((resolve) => releases.set(key, () => resolve(undefined)));
        say('obtained', { key, fencingToken, held });
        await told;
      },
      options,
    );
    say('done', { key });
  } catch (error) {
    say('failed', { key, code: /** @type {{ code: string }} */ (error).code });
  }
}

/** @type {Promise<void>[]} */
const all = [];
function ask() {
  for (const wish of [...hold, ...wait]) for (let n = 0; n < (wish.callers ?? 1); n++) all.push(work(wish));
  say('asked');
}
if (late) await locks.isLocked('ready').then(() => say('ready'));
else ask();

const input = createInterface({ input: process.stdin });
input.on('line', (line) => {
  const [what, argument = ''] = line.split(' ');
  if (what === 'ask') ask();
  if (what === 'release') releases.get(argument)?.();
  if (what === 'cpu') {
    const { user, system } = process.cpuUsage();
    say('cpu', { ms: (user + system) / 1_000 });
  }
  if (what === 'block') {
    say('blocking');
    const until = performance.now() + Number(argument);
    while (performance.now() < until);
    say('awake');
  }
});

async function shutDown() {
  const closing = locks.close();
  say('SIGTERM');
  await closing;
  await Promise.all(all);
  say('closed');
  input.close();
  process.stdin.destroy();
}
process.once('SIGTERM', () => void shutDown());
