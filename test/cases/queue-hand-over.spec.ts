import { expect, test } from '@jest/globals';
import type { LockClient, LockHandle, LockOptions } from 'nestjs-redis-lock';
import { openInboxes, pass, untilQueued } from '../faults/support/queue.js';
import { describeWithRedisServer } from '../support/redis.js';
import { aborted, LockFixture } from './support/lock-fixture.js';

describeWithRedisServer('Queue: hand-over within a process', () => {
  const fixture = LockFixture.use();

  interface Passed {
    readonly old: LockHandle;
    readonly lock: LockHandle;
    readonly handedOver: boolean;
  }

  /** A holder passes the key to the next one of its process. */
  async function passOn(
    client: LockClient,
    from: LockOptions,
    to: LockOptions,
    work: () => Promise<unknown> = async () => undefined,
  ): Promise<Passed> {
    const old = await client.acquire('order', from);
    const acquiring = client.acquire('order', { wait: '1m', ...to });
    await work();
    expect(await old.release()).toMatch(/released|kept/);
    const lock = await acquiring;
    expect(lock.fencingToken).toBeGreaterThan(old.fencingToken);
    // What Redis mints comes after all numbers that belong to the token before.
    return { old, lock, handedOver: lock.fencingToken === old.fencingToken + 1 };
  }

  /** The same where it need not ask Redis, unless the machine is so busy that the time for that is over. */
  async function handOver(client: LockClient, from: LockOptions, to: LockOptions = from): Promise<Passed> {
    for (let attempt = 0; attempt < 10; attempt++) {
      const passed = await passOn(client, from, to);
      if (passed.handedOver) return passed;
      await passed.lock.release();
    }
    throw new Error('The lock was never handed over');
  }

  test('equal leases, renewed, held for a moment → without Redis, under the next token', async () => {
    const log = await fixture.commandLog();
    const { old, lock } = await handOver(fixture.client(), { ttl: '1m' });
    expect(await fixture.holds('order')).toEqual([expect.stringMatching(new RegExp(`/${old.fencingToken}$`))]);
    expect((await log.scripts()).at(-1)).toBe('acquire');
    expect(await lock.release()).toBe('released');
    expect((await log.scripts()).slice(-2)).toEqual(['acquire', 'release']);
    await fixture.expectNothingLeft();
  });

  test.each([
    ['another ttl', { ttl: '1m' }, { ttl: '2m' }],
    ['a fixed lease before', { ttl: '1m', renew: false }, { ttl: '1m' }],
    ['a fixed lease after', { ttl: '1m' }, { ttl: '1m', renew: false }],
    ['minHold before', { ttl: '1m', minHold: 1 }, { ttl: '1m' }],
    ['minHold after', { ttl: '1m' }, { ttl: '1m', minHold: 1 }],
    ['a fair caller before', { ttl: '1m', fair: true }, { ttl: '1m' }],
    ['a fair caller after', { ttl: '1m' }, { ttl: '1m', fair: true }],
  ] satisfies [string, LockOptions, LockOptions][])(
    '%s → through Redis, with the lease that was asked for',
    async (_, from, to) => {
      const { handedOver, lock } = await passOn(fixture.client(), from, to);
      expect(handedOver).toBe(false);
      await lock.extend();
      expect(await fixture.lease('order')).toBeLessThanOrEqual(to.ttl === '2m' ? 120_000 : 60_000);
      expect(await lock.release()).toMatch(/released|kept/);
      await fixture.expectNothingLeft();
    },
  );

  test('held for more than 50 ms → through Redis', async () => {
    const work = async (): Promise<void> => pass(60);
    const { handedOver, lock } = await passOn(fixture.client(), { ttl: '1m' }, { ttl: '1m' }, work);
    expect(handedOver).toBe(false);
    await lock.release();
    await fixture.expectNothingLeft();
  });

  test('many callers → 16 hand-overs at most in a row, tokens grow without a gap in the counter, one at a time', async () => {
    const client = fixture.client();
    const first = await client.acquire('order', { ttl: '1m' });
    const held: { token: number; member: string }[] = [];
    let inside = 0;
    const done = Array.from({ length: 100 }, async () =>
      client.run(
        'order',
        async ({ fencingToken }) => {
          expect(++inside).toBe(1);
          const [member = ''] = await fixture.holds('order');
          held.push({ token: fencingToken, member });
          inside--;
        },
        { ttl: '1m', wait: '1m' },
      ),
    );
    await first.release();
    await Promise.all(done);
    const tokens = held.map(({ token }) => token);
    expect(tokens).toEqual([...tokens].sort((a, b) => a - b));
    expect(new Set([first.fencingToken, ...tokens]).size).toBe(101);
    const rows = new Map<string, number>();
    for (const { member } of held) rows.set(member, (rows.get(member) ?? 0) + 1);
    // The one that got it from Redis, and 16 after it.
    expect(Math.max(...rows.values())).toBeLessThanOrEqual(17);
    expect(rows.size).toBeGreaterThanOrEqual(6);
    expect(Math.max(...tokens)).toBeLessThanOrEqual(Number(await fixture.redis.get(`${fixture.prefix}:fence`)));
    await fixture.expectNothingLeft();
  });

  test('others wait elsewhere → they are served after 16 hand-overs at most, and tokens grow across both', async () => {
    const [client, other] = [fixture.client(), fixture.client()];
    await openInboxes(fixture, client, other);
    const first = await client.acquire('order', { ttl: '1m' });
    const served: { who: string; token: number }[] = [];
    const run = async (each: LockClient, who: string): Promise<unknown> =>
      each.run('order', ({ fencingToken: token }) => served.push({ who, token }), { ttl: '1m', wait: '1m' });
    const theirs = run(other, 'other');
    await untilQueued(fixture, 'order', 1);
    const mine = Array.from({ length: 100 }, async () => run(client, 'mine'));
    await first.release();
    await Promise.all([theirs, ...mine]);
    expect(served.findIndex(({ who }) => who === 'other')).toBeLessThanOrEqual(16);
    const tokens = served.map(({ token }) => token);
    expect(tokens).toEqual([...tokens].sort((a, b) => a - b));
    await fixture.expectNothingLeft();
  });

  test('a handle is closed by its hand-over: what is asked of it later does not touch the new holder', async () => {
    const client = fixture.client();
    const { old, lock } = await handOver(client, { ttl: '30s' });
    const log = await fixture.commandLog();
    await expect(old.extend('1h')).rejects.toMatchObject({ code: 'LOCK_ARGUMENT' });
    expect(await old.release()).toBe('released');
    expect([old.held, old.remaining]).toEqual([false, 0]);
    expect(await log.scripts()).toEqual([]);
    expect(lock.held).toBe(true);
    await lock.extend();
    expect(await fixture.lease('order')).toBeLessThanOrEqual(30_000);

    const { signal } = lock;
    await fixture.giveToSomebodyElse('order');
    await expect(lock.extend()).rejects.toMatchObject({ code: 'LOCK_LOST', fencingToken: lock.fencingToken });
    expect([signal.aborted, old.signal.aborted]).toEqual([true, false]);
    await fixture.redis.del(fixture.redisKey('order'));
    await fixture.expectNothingLeft();
  });

  test('maxHold counts from the hand-over, and not from the grant before it', async () => {
    const { lock } = await handOver(fixture.client(), { ttl: '1m', maxHold: 500 }, { ttl: '1m', maxHold: 2_500 });
    await pass(700);
    expect(lock.held).toBe(true);
    await aborted(lock);
    expect(lock.lost).toMatchObject({ reason: 'maxHold' });
    await fixture.expectNothingLeft();
  });
});
