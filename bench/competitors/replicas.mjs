import { startRedis } from '../../scripts/lib/servers.mjs';
import { isInSync, until } from '../../scripts/lib/topologies/ask.mjs';
import { importLibrary } from './own.mjs';
import { ttlMs } from './ttl.mjs';

/** How many locks wait for a replica at a time: as many as a server has connections for. */
const waiting = 8;

/**
 * A master with a replica that is stopped, and callers of plain locks.
 *
 * @param {import('./index.mjs').OpenOptions} options
 * @param {number} others how many callers wait for the replica meanwhile, each until it is refused, again and again
 * @returns {Promise<import('./index.mjs').LockUser>}
 */
async function open({ lib }, others) {
  const { createLockClient } = await importLibrary(lib);
  const master = await startRedis();
  const replica = await startRedis({ args: ['--replicaof', `127.0.0.1 ${master.port}`] });
  await until('the replica is in sync', () => isInSync(replica));
  const client = createLockClient({ connection: master.url, ttl: ttlMs, wait: Infinity, logger: { warn() {} } });
  await (await client.acquire('open')).release();
  replica.pause();
  let open = true;
  for (let number = 0; number < others; number++) {
    void (async () => {
      while (open) {
        await client.acquire(`waits:${number}`, { replicas: { ack: 1, timeout: '1s' }, wait: '5s' }).catch(() => {});
      }
    })();
  }
  return {
    async acquire(key) {
      const handle = await client.acquire(key);
      return () => handle.release();
    },
    close: () => {
      open = false;
      return client.close();
    },
  };
}

/** @type {import('./index.mjs').Competitor} */
export const besideNobody = {
  name: 'nobody waits for a replica',
  group: 'replicas',
  settings: 'A master whose only replica is stopped, and plain locks.',
  open: (_, options) => open(options, 0),
};

/** @type {import('./index.mjs').Competitor} */
export const besideWaiting = {
  name: '8 locks wait for a replica that is stopped',
  group: 'replicas',
  settings: 'The same, while eight callers ask again and again for locks with `replicas: { ack: 1, timeout: "1s" }`.',
  open: (_, options) => open(options, waiting),
};
