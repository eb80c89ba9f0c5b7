// A process that takes and releases locks over several nodes, one of which may be dead or hang, and then ends by itself:
// no process.exit, so a timer or a socket that was left would keep it alive.
import { createLockClient } from 'nestjs-redis-lock';

const { nodes, prefix } = JSON.parse(process.argv[2] ?? '{}');

/** @param {string} event @param {object} [details] */
const say = (event, details) => process.stdout.write(`${JSON.stringify({ event, ...details })}\n`);

const locks = createLockClient({ nodes, prefix, shutdown: { drain: 0 }, logger: { warn() {} } });
/** @type {Record<string, number>} */
const outcomes = {};
for (let n = 0; n < 20; n++) {
  const outcome = await locks.run(`order ${n}`, async () => 'done', { wait: '10s' });
  outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
}
await locks.acquire('left to the shutdown', { wait: '10s' });
await locks.close();
say('closed', { outcomes });
