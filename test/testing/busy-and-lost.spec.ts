import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import {
  createLockClient,
  currentLock,
  LockArgumentError,
  LockBusyError,
  Locked,
  lockKey,
  LockLostError,
  LockService,
  type LockClient,
  type LockClientOptions,
  type RedisLockModuleOptions,
} from 'nestjs-redis-lock';
import { makeBusy, makeLost } from 'nestjs-redis-lock/testing';
import { NestFixture, locksOf, recordEvents, rejection } from '../nest/support/nest-fixture.js';
import { describeWithRedis, sharedRedisUrl, uniquePrefix } from '../support/redis.js';

/** Options over those of the fixture, which has Redis. */
const IN_MEMORY: Partial<RedisLockModuleOptions> = { connection: undefined, store: 'memory' };

@Injectable()
class Orders {
  constructor(private readonly locks: LockService) {}

  @Locked('order:<id>', { wait: 0 })
  async buy(id: number): Promise<string> {
    return `${id} under ${currentLock().key}`;
  }

  @Locked('order:<id>', { wait: '5s' })
  async buyLater(id: number): Promise<string> {
    return `${id} under ${currentLock().key}`;
  }

  /** Like work whose Redis fails over: it stops where it is told to. */
  @Locked('order:<id>', { wait: 0 })
  async loses(id: number): Promise<string> {
    const { signal } = currentLock();
    await makeLost(this.locks, lockKey`order:${id}`);
    return String(signal.aborted);
  }
}

function checks(storeOptions: () => Partial<LockClientOptions>): void {
  let locks: LockClient;
  let warnings: string[];

  function client(options: Partial<LockClientOptions> = {}): LockClient {
    return createLockClient({
      ...storeOptions(),
      shutdown: { drain: 0 },
      logger: { warn: (message) => warnings.push(message) },
      ...options,
    });
  }

  beforeEach(() => {
    warnings = [];
    locks = client();
  });
  afterEach(() => locks.close());

  describe('makeBusy', () => {
    test('who does not want to wait is refused, and the holder is somebody else', async () => {
      const busy = await makeBusy(locks, 'order');
      const error = await rejection(locks.acquire('order', { wait: 0 }));
      expect(error).toBeInstanceOf(LockBusyError);
      const mine = await locks.acquire('mine');
      const other = await rejection(locks.acquire('mine', { wait: 0, reentrant: false }));
      const holders = [error, other].map((each) => (each as LockBusyError).holder?.holder.split('#')[0]);
      expect(holders[0]).toEqual(expect.any(String));
      expect(holders[0]).not.toBe(holders[1]);
      await Promise.all([busy.release(), mine.release()]);
    });

    test('who waits gets the lock after the release, not before', async () => {
      const busy = await makeBusy(locks, lockKey`order:${7}`);
      const got: string[] = [];
      const waiting = locks.run('order:7', () => got.push('mine'));
      await locks.isLocked('order:7');
      expect(got).toEqual([]);
      expect(await busy.release()).toBe('released');
      expect(await waiting).toBe(1);
    });

    test('await using frees the key', async () => {
      {
        await using busy = await makeBusy(locks, 'order');
        expect(busy.key).toBe('order');
        expect(await locks.tryAcquire('order')).toBeNull();
      }
      expect(await locks.isLocked('order')).toBe(false);
    });

    test('permits of a semaphore and the write lock can be busy as well', async () => {
      const pool = locks.semaphore('pool', { permits: 3 });
      const busy = await makeBusy(locks, 'pool', { permits: 3, take: 2 });
      const last = await pool.acquire({ wait: 0 });
      expect(await pool.tryAcquire()).toBeNull();
      await Promise.all([busy.release(), last.release()]);
      const writer = await makeBusy(locks, 'catalogue', { mode: 'write' });
      expect(await locks.readWrite('catalogue').read.tryAcquire()).toBeNull();
      expect(await writer.release()).toBe('released');
    });

    test('inside of the lock itself → it is busy: nobody else can have it', async () => {
      await locks.run('order', async () => {
        expect(await rejection(makeBusy(locks, 'order'))).toBeInstanceOf(LockBusyError);
      });
    });

    test('the defaults of the client do not keep the key closed', async () => {
      await using strict = client({ minHold: '1m', maxHold: '2m', renew: false, wait: '1m' });
      await (await makeBusy(strict, 'order')).release();
      expect(await strict.isLocked('order')).toBe(false);
    });

    test('nothing of it is told to the listeners of the client', async () => {
      const acquired = recordEvents(locks, 'acquired');
      await (await makeBusy(locks, 'order')).release();
      expect([acquired, warnings]).toEqual([[], []]);
    });
  });

  describe('makeLost', () => {
    test('the signal aborts, run throws, and the key is free', async () => {
      const lost = recordEvents(locks, 'lost');
      const error = await rejection(
        locks.run('order', async (lock) => {
          expect(lock.signal.aborted).toBe(false);
          await makeLost(locks, 'order');
          expect(lock.signal.reason).toBeInstanceOf(LockLostError);
          expect(lock.held).toBe(false);
          expect(await locks.isLocked('order')).toBe(false);
          return 'result';
        }),
      );
      expect(error).toBeInstanceOf(LockLostError);
      expect(error).toMatchObject({ reason: 'taken', key: 'order', result: 'result' });
      expect(lost).toMatchObject([{ key: 'order', reason: 'taken' }]);
    });

    test('somebody else may have the lock while the work goes on, and keeps it', async () => {
      const lock = await locks.acquire(lockKey`order:${7}`);
      await makeLost(locks, 'order:7');
      const busy = await makeBusy(locks, 'order:7');
      expect(busy.fencingToken).toBeGreaterThan(lock.fencingToken);
      expect(await lock.release()).toBe('lost');
      expect(await locks.isLocked('order:7')).toBe(true);
      expect(await busy.release()).toBe('released');
    });

    test('who waits here gets the lock', async () => {
      const lock = await locks.acquire('order');
      const waiting = locks.run('order', () => 'mine');
      await makeLost(locks, 'order');
      expect(await waiting).toBe('mine');
      expect(lock.lost).toMatchObject({ reason: 'taken' });
    });

    test('a lock that was handed over in this process, and one with minHold', async () => {
      const first = await locks.acquire('order');
      const second = locks.acquire('order', { minHold: '1m', reentrant: false });
      const third = locks.acquire('order', { minHold: '1m', reentrant: false });
      await first.release();
      const lock = await second;
      await makeLost(locks, 'order');
      expect(lock.lost).toMatchObject({ reason: 'taken' });
      await makeLost(locks, (await third).key);
      expect(await locks.isLocked('order')).toBe(false);
    });

    test('a key that this client does not hold → an error that says so', async () => {
      await using busy = await makeBusy(locks, 'order');
      for (const key of [busy.key, 'free']) {
        const error = await rejection(makeLost(locks, key));
        expect(error).toBeInstanceOf(LockArgumentError);
        expect((error as Error).message).toMatch(
          new RegExp(`makeLost: nobody holds lock "${key}" through this client`),
        );
      }
      expect(busy.held).toBe(true);
      const lock = await locks.acquire('released');
      await lock.release();
      expect(await rejection(makeLost(locks, 'released'))).toBeInstanceOf(LockArgumentError);
    });

    test('a lock that is lost already → the same error', async () => {
      const lock = await locks.acquire('order');
      await makeLost(locks, 'order');
      expect(await rejection(makeLost(locks, 'order'))).toBeInstanceOf(LockArgumentError);
      await lock.release();
    });
  });
}

describe('In memory', () => {
  checks(() => ({ store: 'memory' }));

  test('makeBusy where everybody is let through → an error', async () => {
    await using locks = createLockClient({ enabled: false });
    const error = await rejection(makeBusy(locks, 'order'));
    expect(error).toBeInstanceOf(LockArgumentError);
    expect((error as Error).message).toMatch(/"enabled" is false/);
  });
});

describeWithRedis('On Redis', () => {
  checks(() => ({ connection: sharedRedisUrl(), prefix: uniquePrefix() }));
});

describeWithRedis('In a Nest application', () => {
  const fixture = NestFixture.use();

  test.each<[string, Partial<RedisLockModuleOptions>]>([
    ['in memory', IN_MEMORY],
    ['on Redis', {}],
  ])('%s: a locked method finds its key busy, and gets it later', async (_where, lock) => {
    const app = await fixture.module({ lock, providers: [Orders] });
    const orders = app.get(Orders);
    const busy = await makeBusy(locksOf(app), 'order:7');
    expect(await rejection(orders.buy(7))).toBeInstanceOf(LockBusyError);
    expect(await orders.buy(8)).toBe('8 under order:8');
    const later = orders.buyLater(7);
    await busy.release();
    expect(await later).toBe('7 under order:7');
  });

  test.each<[string, Partial<RedisLockModuleOptions>]>([
    ['in memory', IN_MEMORY],
    ['on Redis', {}],
  ])('%s: a locked method loses its lock', async (_where, lock) => {
    const app = await fixture.module({ lock, providers: [Orders] });
    const error = await rejection(app.get(Orders).loses(7));
    expect(error).toMatchObject({ code: 'LOCK_LOST', reason: 'taken', result: 'true' });
  });
});
