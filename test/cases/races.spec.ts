import { afterEach, describe, expect, test } from '@jest/globals';
import {
  createLockClient,
  currentLock,
  Locked,
  LockUnavailableError,
  MemoryLockStore,
  type LockClient,
  type LockClientOptions,
  type LockHandle,
  type RenewReply,
} from 'nestjs-redis-lock';
import { attachLocks } from 'nestjs-redis-lock/testing';
import { deferred, waitFor } from '../support/wait-for.js';

/** A store in memory that can be silent, and answer later. */
class MoodyStore extends MemoryLockStore {
  silent = false;

  override renew(commands: Parameters<MemoryLockStore['renew']>[0]): Promise<RenewReply>[] {
    if (!this.silent) return super.renew(commands);
    return commands.map(async ({ key }) => {
      await Promise.resolve();
      throw new LockUnavailableError(key, 'the store is silent');
    });
  }

  override async acquire(command: Parameters<MemoryLockStore['acquire']>[0]): ReturnType<MemoryLockStore['acquire']> {
    if (this.silent) throw new LockUnavailableError(command.key, 'the store is silent', { mayHaveRun: false });
    return super.acquire(command);
  }
}

describe('Several things at once', () => {
  const clients: LockClient[] = [];
  const open = (options: Partial<LockClientOptions> = {}): LockClient => {
    const client = createLockClient({ store: 'memory', logger: { warn: () => undefined }, ...options });
    clients.push(client);
    return client;
  };

  afterEach(async () => {
    await Promise.all(clients.splice(0).map(async (client) => client.close()));
  });

  test.each([{ renew: false }, { renew: true, minHold: '1m' as const }])(
    'case 26: a nested call that asks the store while the outer work ends → it runs under a lock that is held: %o',
    async (options) => {
      const store = new MemoryLockStore();
      const [locks, others] = [open({ store }), open({ store })];
      for (let hops = 0; hops < 20; hops++) {
        const key = `key-${hops}`;
        let nested: Promise<unknown> | undefined;
        const body = async (lock: LockHandle): Promise<void> => {
          expect(lock.held).toBe(true);
          expect(await others.tryAcquire(key)).toBeNull();
        };
        const outer = async (): Promise<void> => {
          nested = locks.run(key, body, { minHold: options.minHold ?? 0 });
          for (let hop = 0; hop < hops; hop++) await Promise.resolve();
        };
        await locks.run(key, outer, { renew: options.renew });
        await nested;
      }
    },
  );

  test('case 24: a handle that another request runs in → does not lend it the scopes of the request that acquired', async () => {
    const locks = open();
    const handle = deferred<LockHandle>();
    const leave = deferred();
    const first = locks.run('b', async () => {
      handle.resolve(await locks.acquire('leader'));
      await leave.promise;
    });
    const leader = await handle.promise;
    expect(await leader.run(async () => locks.tryRun('b', () => 'inside'))).toEqual({ ran: false, reason: 'busy' });
    leave.resolve();
    await first;
    await leader.release();
  });

  test('case 23: a handle that runs inside of another lock → what it calls can enter both', async () => {
    const locks = open();
    const handle = await locks.acquire('a');
    const inner = async (): Promise<string[]> => [currentLock('a').key, currentLock('b').key];
    const entered = await locks.run('b', async () => handle.run(async () => locks.run('b', inner, { wait: 0 })));
    expect(entered).toEqual(['a', 'b']);
    await handle.release();
  });

  test('case 12: a lock that is released by the listener of its failed renewal → nothing rejects unhandled', async () => {
    const store = new MoodyStore();
    const locks = open({ store });
    const [first, second] = [await locks.acquire('a', { ttl: 300 }), await locks.acquire('b', { ttl: 300 })];
    let failures = 0;
    locks.events.on('renewalFailed', () => {
      failures++;
      void first.release();
      void second.release();
    });
    store.silent = true;
    await waitFor(() => failures > 0);
    // A rejection that nobody handles fails the test by itself.
    expect(await Promise.all([first.release(), second.release()])).toEqual(['released', 'released']);
  });

  test('case 4: one caller waits for a store that is out of reach → a second one is told so, and not that the key is held', async () => {
    const store = new MoodyStore();
    const locks = open({ store });
    store.silent = true;
    const stop = new AbortController();
    const waiting = locks.acquire('a', { wait: Infinity, signal: stop.signal }).catch((error: unknown) => error);
    const told = async (): Promise<unknown> => locks.tryRun('a', () => 1).catch((error: unknown) => error);
    await waitFor(async () => (await told()) instanceof LockUnavailableError);
    expect(await told()).toBeInstanceOf(LockUnavailableError);
    stop.abort();
    await waiting;
  });

  test('case 16: a nested call with another ttl → the fixed lease of the outer lock begins anew, with its own length', async () => {
    const locks = open();
    const lock = await locks.acquire('a', { renew: false, ttl: '2s' });
    await lock.run(async () => locks.run('a', () => expect(lock.remaining).toBeLessThanOrEqual(2_000), { ttl: '1h' }));
    expect(lock.remaining).toBeGreaterThan(0);
    await lock.release();
  });

  test('enabled: false → calls side by side in one scope go through, without waiting', async () => {
    const locks = open({ enabled: false });
    const together = deferred();
    let inside = 0;
    const work = async (): Promise<void> => {
      if (++inside === 2) together.resolve();
      await together.promise;
    };
    const both = async (): Promise<unknown> =>
      Promise.all([locks.run('a', work, { wait: 0 }), locks.run('a', work, { wait: 0 })]);
    await locks.run('a', both);
    expect(inside).toBe(2);
  });

  test('case 14: a logger that throws → the lock is lost as ever, and its signal aborts', async () => {
    const logger = {
      warn: (): never => {
        throw new Error('no disk');
      },
    };
    const locks = open({ logger });
    const lock = await locks.acquire('a', { maxHold: 50 });
    await waitFor(() => lock.signal.aborted);
    expect(await lock.release()).toBe('lost');
  });

  test('case 21: a handle that is released while it extends → the caller is told', async () => {
    const locks = open();
    const lock = await locks.acquire('a');
    const extended = lock.extend('1m');
    await lock.release();
    await expect(extended).rejects.toMatchObject({ code: expect.stringMatching(/LOCK_ARGUMENT|LOCK_LOST/) });
  });

  test('case 29: an override whose decorator stands under another one → has its own lock only', async () => {
    const Wrap: MethodDecorator = (_, __, descriptor: PropertyDescriptor) => {
      const original = descriptor.value as (...args: unknown[]) => unknown;
      descriptor.value = function (this: unknown, ...args: unknown[]) {
        return original.apply(this, args);
      };
    };
    class Base {
      @Locked('base')
      async work(): Promise<string[]> {
        return [currentLock().key];
      }
    }
    class Derived extends Base {
      @Wrap
      @Locked('derived')
      override async work(): Promise<string[]> {
        return [currentLock().key, ...this.others()];
      }

      others(): string[] {
        try {
          return [currentLock('base').key];
        } catch {
          return [];
        }
      }
    }
    expect(await attachLocks(new Derived(), open()).work()).toEqual(['derived']);
  });
});
