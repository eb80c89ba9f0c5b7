import { pathToFileURL } from 'node:url';
import { join } from 'node:path';
import { ttlMs } from './ttl.mjs';
import { UnavailableError } from './unavailable.mjs';

/**
 * @param {string} lib
 * @param {string} [entry]
 */
export function importLibrary(lib, entry = 'index.js') {
  return import(pathToFileURL(join(lib, 'dist/esm', entry)).href);
}

/**
 * @param {string} url
 * @param {import('./index.mjs').OpenOptions} options
 * @param {object} acquireOptions
 * @returns {Promise<import('./index.mjs').LockUser>}
 */
async function open(url, { lib, onLost }, acquireOptions) {
  const { createLockClient } = await importLibrary(lib);
  const client = createLockClient({ connection: url, ttl: ttlMs, wait: Infinity });
  if (onLost) client.events.on('lost', onLost);
  try {
    const handle = await client.acquire('open', acquireOptions);
    await handle.release();
  } catch (error) {
    await client.close();
    if (error instanceof Error && error.name === 'LockArgumentError') throw new UnavailableError(error.message);
    throw error;
  }
  return {
    async acquire(key) {
      const handle = await client.acquire(key, acquireOptions);
      return () => handle.release();
    },
    close: () => client.close(),
  };
}

/** @type {import('./index.mjs').Competitor} */
export const own = {
  name: 'nestjs-redis-lock',
  group: 'own',
  settings: 'The defaults, and `wait: Infinity`; the lease is renewed.',
  renews: true,
  open: (url, options) => open(url, options, {}),
};

/** @type {import('./index.mjs').Competitor} */
export const ownFair = {
  name: 'nestjs-redis-lock, fair',
  group: 'own',
  settings: 'As above with `fair: true`: callers get the lock in the order in which they asked.',
  open: (url, options) => open(url, options, { fair: true }),
};
