// A process that asks for many keys at once when the line `ask` comes, and says how that ended. The line `close` ends it.
import { createLockClient } from 'nestjs-redis-lock';
import { createInterface } from 'node:readline';

const { url, prefix, keys } = JSON.parse(process.argv[2] ?? '{}');

/** @param {string} event @param {object} [details] */
const say = (event, details) => process.stdout.write(`${JSON.stringify({ event, ...details })}\n`);

const locks = createLockClient({ connection: url, prefix, logger: { warn() {} } });
await locks.isLocked('ready');

async function ask() {
  /** @type {Record<string, number>} */
  const outcomes = {};
  /** @param {string} outcome */
  const count = (outcome) => (outcomes[outcome] = (outcomes[outcome] ?? 0) + 1);
  const all = Array.from({ length: keys }, (_, n) => locks.run(`order-${n}`, () => 'done', { wait: '1m' }));
  await Promise.all(all.map((each) => each.then(count, ({ code }) => count(code))));
  say('settled', { outcomes });
}

async function close() {
  await locks.close();
  input.close();
  process.stdin.destroy();
}

const input = createInterface({ input: process.stdin });
input.on('line', (line) => {
  if (line === 'ask') void ask();
  if (line === 'close') void close();
});
say('ready');
