import { expect, test } from '@jest/globals';
import type { LockHandle, ReadWriteLock } from 'nestjs-redis-lock';
import { LockFixture } from '../cases/support/lock-fixture.js';
import { describeWithRedisServer } from '../support/redis.js';
import { waitFor } from '../support/wait-for.js';
import { haveListened } from './listening.js';

describeWithRedisServer('A read/write lock', () => {
  const fixture = LockFixture.use();

  function twoNodes(): [ReadWriteLock, ReadWriteLock] {
    return [fixture.client().readWrite('doc'), fixture.client().readWrite('doc')];
  }

  async function queued(lock: ReadWriteLock, count: number): Promise<void> {
    await waitFor(async () => (await lock.inspect()).queued === count);
  }

  test('lets readers in together and a writer alone', async () => {
    const nodes = twoNodes();
    let [readers, writers, most] = [0, 0, 0];
    const read = async (): Promise<void> => {
      most = Math.max(most, ++readers);
      expect(writers).toBe(0);
      await new Promise(setImmediate);
      readers--;
    };
    const write = async (): Promise<void> => {
      expect([readers, ++writers]).toEqual([0, 1]);
      await new Promise(setImmediate);
      expect([readers, writers]).toEqual([0, 1]);
      writers--;
    };
    await Promise.all(
      Array.from({ length: 200 }, async (_, call) => {
        const node = nodes[call % 2] as ReadWriteLock;
        return call % 10 === 0 ? node.write.run(write, { wait: '50s' }) : node.read.run(read, { wait: '50s' });
      }),
    );
    expect(most).toBeGreaterThan(1);
    await fixture.expectNothingLeft();
  });

  test('case 50: a writer that waits stops new readers, and is not starved by them', async () => {
    const [mine, theirs] = twoNodes();
    await haveListened(async () => mine.inspect(), mine.write, theirs.write);
    const reader = await mine.read.acquire();
    const order: string[] = [];
    const take = (name: string, acquiring: Promise<LockHandle>): Promise<LockHandle> =>
      acquiring.then((lock) => (order.push(name), lock));
    const writer = take('writer', theirs.write.acquire({ wait: '50s' }));
    await queued(mine, 1);
    expect(await mine.read.tryAcquire()).toBeNull();
    const late = [mine, theirs].map(async ({ read }) => take('reader', read.acquire({ wait: '50s' })));
    await queued(mine, 3);
    await reader.release();
    const writing = await writer;
    expect(await mine.inspect()).toMatchObject({ readers: [], writer: { token: writing.fencingToken }, queued: 2 });
    await writing.release();
    const reading = await Promise.all(late);
    expect((await mine.inspect()).readers).toHaveLength(2);
    expect(order).toEqual(['writer', 'reader', 'reader']);
    await Promise.all(reading.map(async (lock) => lock.release()));
    await fixture.expectNothingLeft();
  });

  test("case 50: a reader with a short lease leaves → another reader's longer lease stands", async () => {
    const [mine, theirs] = twoNodes();
    const long = await mine.read.acquire({ ttl: '60s' });
    const short = await theirs.read.acquire({ ttl: 1_000 });
    await short.release();
    const [left] = (await mine.inspect()).readers;
    expect(left).toMatchObject({ token: long.fencingToken });
    expect(left?.remainingMs).toBeGreaterThan(30_000);
    expect(await theirs.write.tryAcquire()).toBeNull();
    await long.release();
    await fixture.expectNothingLeft();
  });

  test("one reader's lease ends → the writer waits for the other", async () => {
    const [mine, theirs] = twoNodes();
    await mine.read.acquire({ ttl: 400, renew: false });
    const kept = await mine.read.acquire({ ttl: '60s' });
    const writer = theirs.write.acquire({ wait: '50s' });
    await queued(mine, 1);
    await waitFor(async () => (await mine.inspect()).readers.length === 1);
    expect((await mine.inspect()).writer).toBeUndefined();
    await kept.release();
    await (await writer).release();
    await fixture.expectNothingLeft();
  });

  test('a writer becomes a reader, and lets readers in but no other writer in between', async () => {
    const [mine, theirs] = twoNodes();
    await haveListened(async () => mine.inspect(), mine.write, theirs.write);
    const writer = await mine.write.acquire({ ttl: 900 });
    const reader = theirs.read.acquire({ wait: '50s' });
    await queued(mine, 1);
    const next = theirs.write.acquire({ wait: '50s' });
    await queued(mine, 2);
    await writer.downgrade();
    const reading = await reader;
    expect(reading.fencingToken).toBeGreaterThan(writer.fencingToken);
    await writer.downgrade();
    expect((await mine.inspect()).readers).toHaveLength(2);
    // It is renewed under its new name.
    const before = performance.now();
    await waitFor(() => performance.now() - before > 1_000 || !writer.held);
    expect(writer.held).toBe(true);
    await reading.release();
    expect(await writer.release()).toBe('released');
    await (await next).release();
    await fixture.expectNothingLeft();
  });

  test('only a writer whose calls inside have ended can be downgraded', async () => {
    const [mine] = twoNodes();
    const reader = await mine.read.acquire();
    await expect(reader.downgrade()).rejects.toMatchObject({
      code: 'LOCK_ARGUMENT',
      message: expect.stringContaining('only a writer can'),
    });
    await reader.release();
    await mine.write.run(async (writer) => {
      await mine.write.run(async () => {
        await expect(writer.downgrade()).rejects.toMatchObject({ code: 'LOCK_ARGUMENT' });
      });
      await writer.downgrade();
      await mine.read.run(async (inside) => expect(inside.fencingToken).toBe(writer.fencingToken));
      await expect(mine.write.acquire({ wait: '50s' })).rejects.toMatchObject({ code: 'LOCK_ARGUMENT' });
    });
    const released = await mine.write.acquire();
    await released.release();
    await expect(released.downgrade()).rejects.toMatchObject({ code: 'LOCK_ARGUMENT' });
    await fixture.expectNothingLeft();
  });

  test('a writer that was lost is not downgraded', async () => {
    const [mine] = twoNodes();
    const writer = await mine.write.acquire({ ttl: '60s' });
    await fixture.redis.del(fixture.redisKey('doc'));
    await expect(writer.downgrade()).rejects.toMatchObject({ code: 'LOCK_LOST', reason: 'taken' });
    expect(writer.held).toBe(false);
  });

  test('a reader that asks for the write lock is told why that can never be, at once', async () => {
    const [mine] = twoNodes();
    for (const reentrant of [true, false]) {
      await mine.read.run(async () => {
        await expect(mine.write.acquire({ wait: '50s', reentrant })).rejects.toMatchObject({
          code: 'LOCK_ARGUMENT',
          message: expect.stringMatching(/^Lock "doc": a reader cannot become a writer: it would wait .* each other/),
        });
      });
    }
    await fixture.expectNothingLeft();
  });

  test('inside of the write lock, reading and writing enter it; readers inside of a reader too', async () => {
    const [mine, theirs] = twoNodes();
    await mine.write.run(async (writer) => {
      await mine.read.run(async (inside) => expect(inside.fencingToken).toBe(writer.fencingToken));
      await mine.write.run(async (inside) => expect(inside.fencingToken).toBe(writer.fencingToken));
      expect(await theirs.read.tryAcquire()).toBeNull();
    });
    await mine.read.run(async (reader) => {
      const waiting = theirs.write.acquire({ wait: '50s' });
      await queued(mine, 1);
      await mine.read.run(async (inside) => expect(inside.fencingToken).toBe(reader.fencingToken));
      void waiting.then(async (lock) => lock.release());
    });
    await fixture.expectNothingLeft();
  });
});
