import { expect, test } from '@jest/globals';
import { LockLostError, type LockHandle } from 'nestjs-redis-lock';
import { describeWithRedisServer } from '../support/redis.js';
import { waitFor } from '../support/wait-for.js';
import { LockFixture, recordEvents, rejection, timed } from './support/lock-fixture.js';

describeWithRedisServer('Releasing', () => {
  const fixture = LockFixture.use();
  /** A lease that ends in the middle of the work. */
  const short = { ttl: '400ms', renew: false } as const;
  const untilFree = async (): Promise<unknown> => waitFor(async () => fixture.isFree('order'));

  test('case 18: released after its lease, nobody else there → quick, and lost', async () => {
    const client = fixture.client();
    const lost = recordEvents(client, 'lost');
    const released = recordEvents(client, 'released');
    const lock = await client.acquire('order', short);
    await untilFree();
    const { result: outcome, ms } = await timed(async () => lock.release());
    expect(outcome).toBe('lost');
    expect(ms).toBeLessThan(1_000);
    expect(lost).toEqual([expect.objectContaining({ key: 'order', reason: 'expired' })]);
    expect(released).toEqual([]);
    await fixture.expectNothingLeft();
  });

  test('case 18: released after its lease, somebody else there → quick, lost, and their lock is left alone', async () => {
    const [client, next] = [fixture.client(), fixture.client()];
    const lock = await client.acquire('order', short);
    const theirs = await next.acquire('order', { ttl: '1m', wait: '1m' });
    // Theirs may be a grant: then its lease has its whole length once it is confirmed.
    await waitFor(async () => (await fixture.lease('order')) > 30_000);
    const before = await fixture.redis.hgetall(fixture.redisKey('order'));

    const { result: outcome, ms } = await timed(async () => lock.release());
    expect(outcome).toBe('lost');
    expect(ms).toBeLessThan(1_000);
    expect(await fixture.redis.hgetall(fixture.redisKey('order'))).toEqual(before);
    expect(await fixture.lease('order')).toBeGreaterThan(30_000);
    expect(await theirs.release()).toBe('released');
    await fixture.expectNothingLeft();
  });

  test('case 18: the lock was gone before its lease should end, and somebody else is there → lost, their lock is left alone', async () => {
    const [client, next] = [fixture.client(), fixture.client()];
    const lost = recordEvents(client, 'lost');
    const lock = await client.acquire('order', { ttl: '1m' });
    await fixture.redis.del(fixture.redisKey('order'));
    const theirs = await next.acquire('order', { ttl: '1m' });

    expect(await lock.release()).toBe('lost');
    expect(lost).toEqual([expect.objectContaining({ reason: 'taken' })]);
    expect(await fixture.holds('order')).toEqual([expect.stringMatching(new RegExp(`/${theirs.fencingToken}$`))]);
    expect(await theirs.release()).toBe('released');
    await fixture.expectNothingLeft();
  });

  test('case 18: the body returns after its lease → LockLostError that carries the value', async () => {
    const error = await rejection(
      fixture.client().run('order', async () => (await untilFree(), { paid: true }), short),
    );
    expect(error).toBeInstanceOf(LockLostError);
    expect(error).toMatchObject({ key: 'order', reason: 'expired', result: { paid: true } });
    await fixture.expectNothingLeft();
  });

  test("case 18: the body returns after its lease, onLost 'warn' → the value, and one event", async () => {
    const client = fixture.client();
    const lost = recordEvents(client, 'lost');
    const value = await client.run('order', async () => (await untilFree(), 'paid'), { ...short, onLost: 'warn' });
    expect(value).toBe('paid');
    expect(lost).toHaveLength(1);
    expect(fixture.warnings).toEqual([expect.stringContaining('"order"')]);
    await fixture.expectNothingLeft();
  });

  test('case 18: the body throws after its lease → what it threw', async () => {
    const own = new Error('Out of stock');
    const work = async (): Promise<never> => {
      await untilFree();
      throw own;
    };
    expect(await rejection(fixture.client().run('order', work, short))).toBe(own);
    expect(await rejection(fixture.client().tryRun('order', work, short))).toBe(own);
    await fixture.expectNothingLeft();
  });

  test.each([
    ['an Error', new Error('Out of stock')],
    ['a text', 'Out of stock'],
    ['undefined', undefined],
  ])('case 19: the body throws %s and the release cannot reach Redis → what it threw', async (_, own) => {
    const { proxy, client } = await fixture.clientBehindProxy({ commandTimeout: 300 });
    const released = recordEvents(client, 'released');
    const outcome = await rejection(
      client.run('order', () => {
        proxy.close();
        throw own as Error;
      }),
    );
    expect(outcome).toBe(own);
    expect(released).toEqual([expect.objectContaining({ outcome: 'unknown' })]);
  });

  test('case 19: the body throws and Redis refuses the release → what it threw', async () => {
    const client = fixture.client();
    const own = new Error('Out of stock');
    const outcome = await rejection(
      client.run('order', async () => {
        await fixture.redis.set(fixture.redisKey('order'), 'something else than a lock');
        throw own;
      }),
    );
    expect(outcome).toBe(own);
  });

  test('case 20: Redis hangs at the release → run settles with the value within its bound, and the lock is given back later', async () => {
    const client = fixture.client({ commandTimeout: 300 });
    const released = recordEvents(client, 'released');
    let returnedAt = 0;
    const value = await client.run(
      'order',
      () => {
        fixture.server.pause();
        returnedAt = performance.now();
        return 'value';
      },
      { ttl: '1m' },
    );
    const ms = performance.now() - returnedAt;
    expect(value).toBe('value');
    expect(ms).toBeGreaterThan(250);
    expect(ms).toBeLessThan(3_000);
    expect(released).toEqual([expect.objectContaining({ outcome: 'unknown' })]);

    fixture.server.resume();
    await fixture.expectNothingLeft();
  });

  test('case 20: Redis is out of reach at the release → unknown within its bound, and given back once it is there again', async () => {
    const { proxy, client } = await fixture.clientBehindProxy({ commandTimeout: 300 });
    const lock = await client.acquire('order', { ttl: '1m' });
    proxy.refuse();
    proxy.cut();
    const { result: outcome, ms } = await timed(async () => lock.release());
    expect(outcome).toBe('unknown');
    expect(ms).toBeLessThan(3_000);
    expect(await fixture.holds('order')).toHaveLength(1);
    // Long enough that nothing of the release itself is still on its way.
    const returned = performance.now();
    await waitFor(() => performance.now() - returned > 700);
    await proxy.accept();
    await fixture.expectNothingLeft();
  });

  test('case 20: Redis hangs at the release of a handle → unknown within its bound, no error', async () => {
    const client = fixture.client({ commandTimeout: 300 });
    const lock = await client.acquire('order', { ttl: '1m' });
    fixture.server.pause();
    const { result: outcome, ms } = await timed(async () => lock.release());
    expect(outcome).toBe('unknown');
    expect(ms).toBeLessThan(3_000);
    fixture.server.resume();
    await fixture.expectNothingLeft();
  });

  test('case 21: released twice → the second changes nothing, also when the key has a new owner', async () => {
    const client = fixture.client();
    const released = recordEvents(client, 'released');
    const lock = await client.acquire('order', { ttl: '1m' });
    const log = await fixture.commandLog();
    expect(await Promise.all([lock.release(), lock.release()])).toEqual(['released', 'released']);

    const next = await client.acquire('order', { ttl: '1m' });
    expect(await lock.release()).toBe('released');
    await lock[Symbol.asyncDispose]();
    expect(await fixture.holds('order')).toEqual([expect.stringMatching(new RegExp(`/${next.fencingToken}$`))]);
    expect(await log.scripts()).toEqual(['release', 'acquire']);
    expect(released).toHaveLength(1);
    expect(await next.release()).toBe('released');
    await fixture.expectNothingLeft();
  });

  test('case 21: released by hand inside run, or before the end of await using → once', async () => {
    const client = fixture.client();
    const log = await fixture.commandLog();
    expect(await client.run('order', async (lock: LockHandle) => lock.release())).toBe('released');
    {
      await using lock = await client.acquire('order');
      await lock.release();
    }
    expect(await log.count('release')).toBe(2);
    await fixture.expectNothingLeft();
  });

  test('case 21: the handle of a nested entry released twice → the outer one still holds', async () => {
    const client = fixture.client();
    await client.run('order', async (outer) => {
      const inner = await client.acquire('order');
      await inner.release();
      await inner.release();
      expect(outer.held).toBe(true);
      expect(await fixture.holds('order')).toHaveLength(1);
    });
    await fixture.expectNothingLeft();
  });
});
