import { expect, test } from '@jest/globals';
import { LockArgumentError, LockTimeoutError, LockUnavailableError, type Semaphore } from 'nestjs-redis-lock';
import { LockFixture } from '../cases/support/lock-fixture.js';
import { describeWithRedisServer } from '../support/redis.js';
import { deferred, waitFor } from '../support/wait-for.js';
import { haveListened } from './listening.js';

const MINUTE = 60_000;

describeWithRedisServer('A semaphore', () => {
  const fixture = LockFixture.use();

  /** The same semaphore, as two nodes have it. */
  function twoNodes(permits: number): [Semaphore, Semaphore] {
    return [fixture.client().semaphore('pool', { permits }), fixture.client().semaphore('pool', { permits })];
  }

  test('lets as many in as there are permits, on all nodes together', async () => {
    const nodes = twoNodes(5);
    let inside = 0;
    let most = 0;
    const work = async (): Promise<void> => {
      most = Math.max(most, ++inside);
      await new Promise(setImmediate);
      inside--;
    };
    const calls = Array.from({ length: 200 }, async (_, call) => nodes[call % 2]?.run(work, { wait: '50s' }));
    await Promise.all(calls);
    expect(most).toBe(5);
    await fixture.expectNothingLeft();
  });

  test('case 49: one holder that asks 20 times at limit 5 gets 5', async () => {
    const [semaphore] = twoNodes(5);
    const got = await Promise.all(Array.from({ length: 20 }, async () => semaphore.tryAcquire()));
    expect(got.filter((lock) => lock !== null)).toHaveLength(5);
    expect(new Set(got.map((lock) => lock?.fencingToken)).size).toBe(6);
    await Promise.all(got.map(async (lock) => lock?.release()));
    await fixture.expectNothingLeft();
  });

  test('case 49: a holder dies → only its permit comes back, after its lease, and a waiter gets it', async () => {
    const [mine, theirs] = twoNodes(2);
    const kept = await mine.acquire({ ttl: MINUTE });
    const dies = fixture.process('permit-holder.mjs', {
      url: fixture.server.url,
      prefix: fixture.prefix,
      ttl: 1_000,
    });
    await dies.said('holding');
    const waiting = theirs.acquire({ wait: '50s' });
    await waitFor(async () => (await mine.inspect()).queued === 1);
    dies.kill('SIGKILL');
    const lock = await waiting;
    expect(kept.held).toBe(true);
    expect(await mine.tryAcquire()).toBeNull();
    expect(await lock.release()).toBe('released');
    expect(await kept.release()).toBe('released');
    await fixture.expectNothingLeft();
  });

  test('grants a permit to a waiter with the release, in one message', async () => {
    const [mine, theirs] = twoNodes(1);
    await haveListened(async () => mine.inspect(), mine, theirs);
    const lock = await mine.acquire();
    const waiting = theirs.acquire({ wait: '50s' });
    await waitFor(async () => (await mine.inspect()).queued === 1);
    const log = await fixture.commandLog();
    await lock.release();
    const next = await waiting;
    expect((await log.calls()).map(({ script }) => script)).toEqual(['release']);
    await next.release();
    await fixture.expectNothingLeft();
  });

  test('does not let small requests pass by a big one', async () => {
    const [mine, theirs] = twoNodes(3);
    await haveListened(async () => mine.inspect(), mine, theirs, { take: 3 });
    const [first, second] = [await mine.acquire(), await mine.acquire()];
    const order: string[] = [];
    const big = theirs.acquire({ take: 3, wait: '50s' }).then((lock) => (order.push('big'), lock));
    await waitFor(async () => (await mine.inspect()).queued === 1);
    const small = mine.acquire({ wait: '50s' }).then((lock) => (order.push('small'), lock));
    await waitFor(async () => (await mine.inspect()).queued === 2);
    expect(await mine.inspect()).toMatchObject({ permits: 3, available: 1, queued: 2 });
    expect(await mine.tryAcquire()).toBeNull();
    await first.release();
    await second.release();
    await (await big).release();
    await (await small).release();
    expect(order).toEqual(['big', 'small']);
    await fixture.expectNothingLeft();
  });

  test('shows who holds permits', async () => {
    const [semaphore] = twoNodes(4);
    const lock = await semaphore.acquire({ take: 3, ttl: MINUTE });
    const { holders, ...counts } = await semaphore.inspect();
    expect(counts).toEqual({ permits: 4, available: 1, queued: 0 });
    expect(holders).toEqual([expect.objectContaining({ permits: 3, token: lock.fencingToken })]);
    expect(holders[0]?.remainingMs).toBeGreaterThan(MINUTE - 30_000);
    await lock.release();
    expect(await semaphore.inspect()).toEqual({ permits: 4, available: 4, holders: [], queued: 0 });
  });

  test('can be given more permits while callers wait, and fewer while they are held', async () => {
    const [mine] = twoNodes(1);
    const locks = [await mine.acquire()];
    const waiting = [mine.acquire({ wait: '50s' }), mine.acquire({ wait: '50s' })];
    await waitFor(async () => (await mine.inspect()).queued === 2);
    mine.permits = 3;
    locks.push(...(await Promise.all(waiting)));
    mine.permits = 1;
    expect(await mine.inspect()).toMatchObject({ permits: 1, available: 0 });
    for (const lock of locks) {
      expect(lock.held).toBe(true);
      expect(await mine.tryAcquire()).toBeNull();
      await lock.release();
    }
    await (await mine.acquire({ wait: 0 })).release();
    await fixture.expectNothingLeft();
  });

  test('keeps a lease of its own for each holder, renews them, and loses one at a time', async () => {
    const [mine, theirs] = twoNodes(2);
    const [lost, kept] = [await mine.acquire({ ttl: 900 }), await theirs.acquire({ ttl: 900 })];
    const gone = deferred<unknown>();
    lost.signal.addEventListener('abort', () => gone.resolve(lost.signal.reason));
    const [name] = (await fixture.redis.zrange(fixture.redisKey('pool'), 0, -1)).filter((each) =>
      each.endsWith(`/${lost.fencingToken}`),
    );
    await fixture.redis.zrem(fixture.redisKey('pool'), name ?? '');
    expect(await gone.promise).toMatchObject({ code: 'LOCK_LOST', reason: 'taken' });
    const renewed = (await mine.inspect()).holders[0]?.remainingMs ?? 0;
    await waitFor(async () => ((await mine.inspect()).holders[0]?.remainingMs ?? 0) > renewed);
    expect(kept.held).toBe(true);
    expect(await lost.release()).toBe('lost');
    expect(await kept.release()).toBe('released');
    await fixture.expectNothingLeft();
  });

  test('keeps a permit back for minHold', async () => {
    const [semaphore] = twoNodes(1);
    const lock = await semaphore.acquire({ minHold: 700 });
    expect(await lock.release()).toBe('kept');
    expect(await semaphore.inspect()).toMatchObject({ available: 0, holders: [] });
    const next = await semaphore.acquire({ wait: '50s' });
    expect(next.fencingToken - lock.fencingToken).toBeGreaterThanOrEqual(690_000);
    await next.release();
    await fixture.expectNothingLeft();
  });

  test('is entered again by what is called inside, and takes turns there', async () => {
    const [semaphore] = twoNodes(1);
    const order: string[] = [];
    await semaphore.run(async (outer) => {
      const nested = async (name: string): Promise<void> =>
        semaphore.run(async (inner) => {
          expect(inner.fencingToken).toBe(outer.fencingToken);
          order.push(`${name} begins`);
          await new Promise(setImmediate);
          order.push(`${name} ends`);
        });
      await Promise.all([nested('a'), nested('b')]);
    });
    expect(order).toEqual(['a begins', 'a ends', 'b begins', 'b ends']);
    await fixture.expectNothingLeft();
  });

  test('refuses more permits inside than there can ever be, and gives them where there are enough', async () => {
    const [semaphore] = twoNodes(3);
    await semaphore.run(
      async () => {
        await expect(semaphore.acquire({ take: 3, wait: '50s' })).rejects.toThrow(
          'Lock "pool": it takes 3 permits more inside of 1, and there are only 3.',
        );
        await semaphore.run(async () => expect((await semaphore.inspect()).available).toBe(0), { take: 2 });
      },
      { take: 1 },
    );
    await fixture.expectNothingLeft();
  });

  test('ends waiting at its deadline and at an abort, and leaves nothing in the queue', async () => {
    const [mine, theirs] = twoNodes(1);
    const lock = await mine.acquire();
    const late = await theirs.acquire({ wait: 200 }).catch((error: unknown) => error);
    expect(late).toBeInstanceOf(LockTimeoutError);
    expect(late).toMatchObject({ holder: { holder: expect.any(String) }, key: 'pool' });
    const caller = new AbortController();
    const aborted = theirs.acquire({ wait: '50s', signal: caller.signal });
    await waitFor(async () => (await mine.inspect()).queued === 1);
    caller.abort();
    await expect(aborted).rejects.toMatchObject({ code: 'LOCK_ABORTED' });
    await waitFor(async () => (await mine.inspect()).queued === 0);
    await lock.release();
    await fixture.expectNothingLeft();
  });

  test.each([
    [{ permits: 0 }, 'permits'],
    [{ permits: 1.5 }, 'permits'],
    [{ permits: '5' }, 'permits'],
    [{ permits: 1_000_001 }, 'permits'],
    [{}, 'permits'],
    [undefined, 'permits'],
  ])('%j is refused', async (options, option) => {
    expect(() => fixture.client().semaphore('pool', options as never)).toThrow(
      expect.objectContaining({ code: 'LOCK_ARGUMENT', message: expect.stringContaining(`option "${option}"`) }),
    );
  });

  test.each([
    [{ take: 1 }, 'take'],
    [{ permits: 2, take: 3 }, 'take'],
    [{ permits: 2, take: 0 }, 'take'],
    [{ permits: 2, mode: 'read' }, 'permits'],
    [{ mode: 'reed' }, 'mode'],
    [{ permits: () => 0 }, 'permits'],
  ])('%j is refused as options of a lock', async (options, option) => {
    await expect(fixture.client().acquire('pool', options as never)).rejects.toMatchObject({
      code: 'LOCK_ARGUMENT',
      message: expect.stringContaining(`option "${option}"`),
    });
  });

  test('what is settled already is refused at a call', async () => {
    const client = fixture.client();
    const [semaphore, { read }] = [client.semaphore('pool', { permits: 2 }), client.readWrite('doc')];
    const settled = { code: 'LOCK_ARGUMENT', message: expect.stringContaining('is settled already') };
    await expect(semaphore.acquire({ permits: 9 } as never)).rejects.toMatchObject(settled);
    await expect(semaphore.run(() => 1, { mode: 'read' } as never)).rejects.toMatchObject(settled);
    await expect(read.tryAcquire({ take: 2 } as never)).rejects.toMatchObject(settled);
    await expect(read.tryRun(() => 1, { mode: 'write' } as never)).rejects.toMatchObject(settled);
  });

  test('is refused under the key of a plain lock that is held, with what to do', async () => {
    const client = fixture.client();
    const plain = await client.acquire('pool');
    const refused = await client
      .semaphore('pool', { permits: 2 })
      .acquire({ wait: '50s' })
      .catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(LockUnavailableError);
    expect(String(refused)).toContain('choose another key');
    await plain.release();
    await client.run('pool', async () => {
      await expect(client.semaphore('pool', { permits: 2 }).acquire()).rejects.toBeInstanceOf(LockArgumentError);
    });
    await fixture.expectNothingLeft();
  });

  test('does not exist over several independent nodes, and says so before anything is sent', async () => {
    const nodes = ['redis://localhost:1', 'redis://localhost:2', 'redis://localhost:3'];
    const client = fixture.client({ connection: undefined, nodes });
    const semaphore = client.semaphore('pool', { permits: 2 });
    const message = expect.stringContaining('no semaphores or read/write locks');
    await expect(semaphore.acquire()).rejects.toMatchObject({ code: 'LOCK_ARGUMENT', message });
    await expect(semaphore.inspect()).rejects.toMatchObject({ code: 'LOCK_ARGUMENT', message });
    await expect(client.readWrite('doc').read.acquire()).rejects.toMatchObject({ code: 'LOCK_ARGUMENT', message });
  });
});
