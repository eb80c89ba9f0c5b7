import { importLibrary } from './own.mjs';
import { ttlMs } from './ttl.mjs';

/** More readers than there are. A writer has them all. */
export const readers = 1_000;
const writers = 0.05;

/**
 * @param {string} url
 * @param {import('./index.mjs').OpenOptions} options
 * @param {(isWriter: boolean) => object} optionsOf
 * @param {(isWriter: boolean) => number} permitsOf
 * @returns {Promise<import('./index.mjs').LockUser>}
 */
async function open(url, { lib }, optionsOf, permitsOf) {
  const { createLockClient } = await importLibrary(lib);
  const client = createLockClient({ connection: url, ttl: ttlMs, wait: Infinity });
  return {
    async acquire(key) {
      const isWriter = Math.random() < writers;
      const handle = await client.acquire(key, optionsOf(isWriter));
      return Object.assign(() => handle.release(), { permits: permitsOf(isWriter) });
    },
    close: () => client.close(),
  };
}

/** @type {import('./index.mjs').Competitor} */
export const ownReadWrite = {
  name: 'nestjs-redis-lock, read/write',
  group: 'read/write',
  settings: '`locks.readWrite(key)`, and `wait: Infinity`; 95 of 100 read.',
  open: (url, options) =>
    open(
      url,
      options,
      (isWriter) => ({ mode: isWriter ? 'write' : 'read' }),
      (isWriter) => (isWriter ? readers : 1),
    ),
};

/** @type {import('./index.mjs').Competitor} */
export const ownWithoutReaders = {
  name: 'nestjs-redis-lock, the same under a plain lock',
  group: 'read/write',
  settings: 'A plain lock for readers and writers.',
  open: (url, options) =>
    open(
      url,
      options,
      () => ({}),
      () => readers,
    ),
};
