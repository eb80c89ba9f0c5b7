import { importLibrary, own } from '../competitors/own.mjs';
import { median } from '../lib/numbers.mjs';

const slices = 10;

/**
 * @param {() => Promise<unknown>} call
 * @param {number} ms
 */
async function usACall(call, ms) {
  const started = performance.now();
  let calls = 0;
  while (performance.now() - started < ms) {
    for (let turn = 0; turn < 100; turn++) await call();
    calls += 100;
  }
  return (1_000 * (performance.now() - started)) / calls;
}

/** @type {import('./index.mjs').Work} */
export const decorated = {
  name: 'decorated',
  title: '`@Locked` on a provider, over the bare client (in memory: without Redis)',
  takes: ({ name }) => name === own.name,
  columns: [
    { title: 'client.run, µs a call', figure: 'bareUs', digits: 2 },
    { title: '@Locked, µs a call', figure: 'lockedUs', digits: 2 },
    { title: 'difference, µs', figure: 'differenceUs', digits: 2 },
  ],
  async run({ lib, seconds }) {
    const { createLockClient, Locked } = await importLibrary(lib);
    const { attachLocks } = await importLibrary(lib, 'testing/index.js');
    const client = createLockClient({ store: 'memory' });
    let inside = 0;
    const body = async (/** @type {number} */ id) => {
      if (++inside > 1) throw new Error('Mutual exclusion is broken: two calls are inside');
      await Promise.resolve();
      inside--;
      return id;
    };

    class Service {
      /** @param {number} id */
      async work(id) {
        return body(id);
      }
    }
    // What the compiler makes of `@Locked('k:<id>')` over the method.
    const descriptor = /** @type {PropertyDescriptor} */ (Object.getOwnPropertyDescriptor(Service.prototype, 'work'));
    Locked('k:<id>')(Service.prototype, 'work', descriptor);
    Object.defineProperty(Service.prototype, 'work', descriptor);
    const service = attachLocks(new Service(), client);

    let id = 0;
    const bare = async () => client.run(`k:${++id % 1_000}`, async () => body(id));
    const locked = async () => service.work(++id % 1_000);
    await usACall(bare, 200);
    await usACall(locked, 200);
    /** @type {{ bare: number, locked: number }[]} */
    const results = [];
    for (let slice = 0; slice < slices; slice++) {
      const ms = (1_000 * seconds) / slices / 2;
      results.push({ bare: await usACall(bare, ms), locked: await usACall(locked, ms) });
    }
    const bareUs = median(results.map(({ bare }) => bare));
    const lockedUs = median(results.map(({ locked }) => locked));
    return { bareUs, lockedUs, differenceUs: lockedUs - bareUs };
  },
};
