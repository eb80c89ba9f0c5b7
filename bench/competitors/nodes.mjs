import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { startNodes } from '../../scripts/lib/topologies/index.mjs';
import { importLibrary } from './own.mjs';
import { ttlMs } from './ttl.mjs';

const count = 5;
const release = `if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end`;

/**
 * What any lock over several servers costs at least: all are asked at once, and it goes on when a majority has answered.
 *
 * @param {Promise<boolean>[]} asked
 */
function majorityOf(asked) {
  const enough = Math.floor(asked.length / 2) + 1;
  return new Promise((resolve, reject) => {
    let [yes, no] = [0, 0];
    for (const one of asked) {
      one.then(
        (isGood) => {
          if (isGood && ++yes === enough) resolve(undefined);
          else if (!isGood && ++no === enough) reject(new Error('It is held'));
        },
        () => ++no === enough && reject(new Error('Out of reach')),
      );
    }
  });
}

/** @type {import('./index.mjs').Competitor} */
export const majority = {
  name: 'a bare majority',
  group: 'nodes',
  package: 'ioredis',
  settings:
    'Five connections of bare ioredis: `SET NX PX` to all at once, and one `EVALSHA` to all that compares and deletes; ' +
    'each goes on when three have answered. No waiting, no token, no drift.',
  waits: false,
  async open() {
    const servers = await startNodes(count);
    const clients = servers.map(({ url }) => new Redis(url));
    const [sha = ''] = /** @type {string[]} */ (
      await Promise.all(clients.map(async (redis) => redis.script('LOAD', release)))
    );
    return {
      async acquire(key) {
        const token = randomUUID();
        await majorityOf(clients.map(async (redis) => (await redis.set(key, token, 'PX', ttlMs, 'NX')) === 'OK'));
        return () => majorityOf(clients.map(async (redis) => (await redis.evalsha(sha, 1, key, token)) === 1));
      },
      close: () => clients.forEach((redis) => redis.disconnect()),
    };
  },
};

/**
 * @param {import('./index.mjs').OpenOptions} options
 * @param {object} more
 * @returns {Promise<import('./index.mjs').LockUser>}
 */
async function openOwn({ lib }, more) {
  const { createLockClient } = await importLibrary(lib);
  const servers = await startNodes(count);
  const client = createLockClient({ nodes: servers.map(({ url }) => url), ttl: ttlMs, wait: Infinity, ...more });
  // All five have to be connected.
  for (let held = 0; held < count;) {
    const handle = await client.acquire('open');
    await delay(50);
    held = handle.nodes;
    await handle.release();
  }
  return {
    async acquire(key) {
      const handle = await client.acquire(key);
      return () => handle.release();
    },
    close: () => client.close(),
  };
}

/** @type {import('./index.mjs').Competitor} */
export const ownNodes = {
  name: 'nestjs-redis-lock, 5 nodes',
  group: 'nodes',
  settings: '`nodes` with five servers, and the defaults: fencing tokens that grow.',
  open: (_, options) => openOwn(options, {}),
};

/** @type {import('./index.mjs').Competitor} */
export const ownNodesWithoutFencing = {
  name: 'nestjs-redis-lock, 5 nodes, no fencing',
  group: 'nodes',
  settings: 'The same with `fencing: false`.',
  open: (_, options) => openOwn(options, { fencing: false }),
};
