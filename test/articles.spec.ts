import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises';
import { beforeEach, describe, expect, test } from '@jest/globals';
import type { Redis } from 'ioredis';
import { lockKey, LockLostError, type LockClient } from 'nestjs-redis-lock';
import { acquireScript } from '../libs/redis-lock/src/stores/redis/scripts/acquire.js';
import { releaseScript } from '../libs/redis-lock/src/stores/redis/scripts/release.js';
import { renewScript } from '../libs/redis-lock/src/stores/redis/scripts/renew.js';
import { BlindLock, CountingLock, ProcessLocks, ScriptLock, TokenLock, TwoStepLock } from './articles/naive-locks.js';
import { gapsOf, ServerLog } from './articles/server-log.js';
import { Shop } from './articles/shop.js';
import { LockFixture, recordEvents } from './cases/support/lock-fixture.js';
import { connected } from './support/connected.js';
import { describeWithRedisServer } from './support/redis.js';
import { deferred, waitFor } from './support/wait-for.js';

const MINUTE = 60_000;

// What the articles about locks in Redis claim, rung by rung: each test shows on a real Redis that the simpler form
// fails, and that the lock of this library does not.
describeWithRedisServer('The claims of the articles', () => {
  const fixture = LockFixture.use();
  let redis: Redis;
  /** The key of the simpler locks. */
  let key: string;

  beforeEach(() => {
    redis = fixture.redis;
    key = `naive:${fixture.prefix}`;
  });

  /** The field of a hold in Redis. */
  const holdOf = ({ fencingToken }: { fencingToken: number }): unknown =>
    expect.stringMatching(new RegExp(`#\\d+/${fencingToken}$`));

  const isGone = async (name: string): Promise<boolean> => (await redis.exists(name)) === 0;

  describe('the lease', () => {
    test('SETNX and then EXPIRE leaves a lock for ever when the process dies between; ours is never without a lease', async () => {
      const died = new TwoStepLock(redis, key, 100).tryLock(async () => Promise.reject(new Error('killed')));
      await expect(died).rejects.toThrow('killed');
      expect(await redis.pttl(key)).toBe(-1);

      using log = await ServerLog.start(redis);
      await fixture.client().acquire('order', { ttl: MINUTE });
      expect(await log.calls(acquireScript, fixture.redisKey('order'))).toHaveLength(1);
      expect(await fixture.lease('order')).toBeGreaterThan(0);
    });

    test('a holder that dies frees the key with its lease, and whoever waits gets it then', async () => {
      const [died, next] = [fixture.client(), fixture.client()];
      // A fixed lease: as if the process were gone, nobody renews it.
      const first = await died.acquire('order', { ttl: 200, renew: false });
      const second = await next.acquire('order', { ttl: MINUTE, wait: '30s' });
      expect(second.fencingToken).toBeGreaterThan(first.fencingToken);
    });

    test('12 s of work under 10 s of lease (scaled down) outlives a fixed lease; ours is still held, and nobody else got in', async () => {
      const lease = 2_000;
      const [holder, other] = [fixture.client(), fixture.client()];
      const naive = new ScriptLock(redis, key, lease);
      const started = performance.now();
      expect(await naive.tryLock()).toBe(true);
      const working = holder.run(
        'order',
        async (lock) => {
          let gotIn = 0;
          await waitFor(async () => {
            if (await other.tryAcquire('order')) gotIn++;
            return performance.now() - started > 1.2 * lease && (await isGone(key));
          });
          return { gotIn, held: lock.held, holds: await fixture.holds('order'), token: lock.fencingToken };
        },
        { ttl: lease },
      );
      const { gotIn, held, holds, token } = await working;

      // The simpler lock ended in the middle of the work, and the next one is in.
      expect(await new ScriptLock(redis, key, lease).tryLock()).toBe(true);
      expect({ gotIn, held }).toEqual({ gotIn: 0, held: true });
      expect(holds).toEqual([holdOf({ fencingToken: token })]);
      await fixture.expectNothingLeft();
    });
  });

  describe('the release', () => {
    test("a blind DEL frees another's lock after the lease has ended; ours reports lost and does not touch it", async () => {
      const slow = new BlindLock(redis, key, 50);
      const [second, third] = [new BlindLock(redis, key, MINUTE), new BlindLock(redis, key, MINUTE)];
      expect(await slow.tryLock()).toBe(true);
      await waitFor(async () => isGone(key));
      expect(await second.tryLock()).toBe(true);
      await slow.unlock();
      // The second still works, and so does the third.
      expect(await third.tryLock()).toBe(true);

      const [holder, next, another] = [fixture.client(), fixture.client(), fixture.client()];
      const ended = await holder.acquire('order', { ttl: 50, renew: false });
      const theirs = await next.acquire('order', { ttl: MINUTE, wait: '30s' });
      expect(await ended.release()).toBe('lost');
      expect(await fixture.holds('order')).toEqual([holdOf(theirs)]);
      expect(await another.tryAcquire('order')).toBeNull();
      expect(await theirs.release()).toBe('released');

      // Nor when the holder cannot know yet: its lease is long, and another owns the key nevertheless.
      const unaware = await holder.acquire('order', { ttl: MINUTE });
      const stranger = await fixture.giveToSomebodyElse('order');
      expect(unaware.held).toBe(true);
      expect(await unaware.release()).toBe('lost');
      expect(await redis.hgetall(fixture.redisKey('order'))).toEqual(stranger);
    });

    test("a token that GET reads before the DEL races: the lease ends between them, and another's lock is freed; ours asks and frees in one command", async () => {
      const [slow, second, third] = [200, MINUTE, MINUTE].map((lease) => new TokenLock(redis, key, lease));
      expect(await slow?.tryLock()).toBe(true);
      await slow?.unlock(async () => {
        await waitFor(async () => isGone(key));
        expect(await second?.tryLock()).toBe(true);
      });
      expect(await third?.tryLock()).toBe(true);

      using log = await ServerLog.start(redis);
      const client = fixture.client();
      const lock = await client.acquire('order', { ttl: MINUTE });
      const before = (await log.ofKey(fixture.redisKey('order'))).length;
      expect(await lock.release()).toBe('released');
      const told = await log.ofKey(fixture.redisKey('order'));
      expect(told.slice(before).map(({ command }) => command[1])).toEqual([releaseScript.sha]);
    });

    test("a release that meets the end of its lock and the next acquire, 200 times, never frees the next one's", async () => {
      const [holder, next] = [fixture.client(), fixture.client()];
      const outcomes = new Set<string>();
      for (let round = 0; round < 200; round++) {
        const lock = await holder.acquire('order', { ttl: MINUTE });
        // The holder cannot know: its lease is long, and the key goes nevertheless.
        const taking = redis.del(fixture.redisKey('order')).then(async () => next.acquire('order', { ttl: MINUTE }));
        if (round % 10 === 0) await taking;
        else for (let turns = round % 10; turns > 0; turns--) await turn();
        outcomes.add(await lock.release());
        const theirs = await taking;
        expect(await fixture.holds('order')).toEqual([holdOf(theirs)]);
        expect(await theirs.release()).toBe('released');
      }
      expect(outcomes).toContain('lost');
      await fixture.expectNothingLeft();
    });
  });

  describe('re-entry', () => {
    test('a nested call cannot enter a lock of SET NX; ours lets it in with the same token, and the key is free only after the outermost', async () => {
      const [outer, inner] = [new ScriptLock(redis, key, MINUTE), new ScriptLock(redis, key, MINUTE)];
      expect(await outer.tryLock()).toBe(true);
      expect(await inner.tryLock()).toBe(false);

      const client = fixture.client();
      const tokens: number[] = [];
      const heldAfter: boolean[] = [];
      const enter = async (depth: number): Promise<void> =>
        client.run('order', async (lock) => {
          tokens.push(lock.fencingToken);
          if (depth > 1) await enter(depth - 1);
          heldAfter.push(!(await fixture.isFree('order')));
        });
      await enter(3);
      expect(tokens).toEqual([tokens[0], tokens[0], tokens[0]]);
      expect(heldAfter).toEqual([true, true, true]);
      expect(await fixture.isFree('order')).toBe(true);
    });

    test('a count in a Redis hash counts a command twice that is sent again after a lost reply; ours is one hold, and one release frees the key', async () => {
      const counting = new CountingLock(redis, key, 'process:thread');
      await counting.tryLock();
      await counting.tryLock(); // the same command once more: its reply was lost
      await counting.unlock();
      expect(await isGone(key)).toBe(false);

      using log = await ServerLog.start(redis);
      const { proxy, client } = await fixture.clientBehindProxy();
      proxy.dropReplies(1);
      const lock = await client.acquire('order', { ttl: MINUTE, wait: '30s' });
      expect((await log.calls(acquireScript, fixture.redisKey('order'))).length).toBeGreaterThan(1);
      expect(await fixture.holds('order')).toHaveLength(1);
      expect(await lock.release()).toBe('released');
      await fixture.expectNothingLeft();
    });

    test('an owner that is a thread lets two requests of one Node process in at once; ours follows the call, so they exclude each other', async () => {
      const [request, another] = [1, 2].map(() => new CountingLock(redis, key, `${process.pid}:1`));
      expect(await request?.tryLock()).toBe(true);
      expect(await another?.tryLock()).toBe(true);

      const client = fixture.client();
      const inside: string[] = [];
      const handle = async (name: string): Promise<void> =>
        client.run('order', async () => {
          inside.push(`${name} in`);
          await redis.ping();
          inside.push(`${name} out`);
        });
      await Promise.all([handle('a'), handle('b')]);
      expect(inside).toEqual(['a in', 'a out', 'b in', 'b out']);
    });
  });

  describe('waiting', () => {
    test('a fixed pause asks and asks; ours is told, and has asked once or twice until then', async () => {
      const holder = await fixture.client().acquire('order', { ttl: MINUTE });
      const client = fixture.client();
      // From now on the client can be told.
      await client.tryRun('another', async () => client.acquire('order', { wait: 20 }).catch(() => undefined));
      await waitFor(async () => ((await redis.pubsub('CHANNELS', `${fixture.prefix}:*`)) as string[]).length === 1);

      using log = await ServerLog.start(redis);
      await new ScriptLock(redis, key, MINUTE).tryLock();
      const naive = new ScriptLock(redis, key, MINUTE);
      const waiting = client.run('order', async (lock) => lock.fencingToken, { ttl: MINUTE, wait: '50s' });
      let askedInVain = 0;
      for (const started = performance.now(); performance.now() < started + 1_000; await sleep(20)) {
        if (!(await naive.tryLock())) askedInVain++;
      }
      const asked = await log.calls(acquireScript, fixture.redisKey('order'));
      expect(asked.length).toBeLessThanOrEqual(2);
      expect(askedInVain).toBeGreaterThan(2 * asked.length);
      expect(await holder.release()).toBe('released');
      expect(await waiting).toBeGreaterThan(holder.fencingToken);
      await fixture.expectNothingLeft();
    });

    test('where pub/sub is forbidden, ours backs off with jitter, and gets the lock after its release', async () => {
      using log = await ServerLog.start(redis);
      const [initial, max] = [20, 1_000];
      const holder = await fixture.client().acquire('order', { ttl: MINUTE });
      await redis.acl('SETUSER', 'deaf', 'on', '>secret', '~*', '+@all', 'resetchannels');
      const connection = { host: '127.0.0.1', port: fixture.server.port, username: 'deaf', password: 'secret' };
      const waiters = [1, 2].map(() => fixture.client({ connection, backoff: { initial, max } }));
      await Promise.all(waiters.map(connected));
      await new ScriptLock(redis, key, MINUTE).tryLock();
      const naive = new ScriptLock(redis, key, MINUTE);

      const waiting = waiters.map(async (client) =>
        client.run('order', async (lock) => lock.fencingToken, { ttl: MINUTE, wait: '50s' }),
      );
      let pauses: number[][] = [];
      let askedInVain = 0;
      while (pauses.length < 2 || pauses.some(({ length }) => length < 7)) {
        if (!(await naive.tryLock())) askedInVain++;
        await sleep(initial);
        const calls = (await log.calls(acquireScript, fixture.redisKey('order'))).slice(1);
        const sources = [...new Set(calls.map(({ source }) => source))];
        // The second question follows at once: by then the client knows that nobody can tell it.
        pauses = sources.map((source) => gapsOf(calls.filter((call) => call.source === source)).slice(1));
      }

      for (const grown of pauses) {
        const least = grown.map((_, attempt) => Math.min(max, initial * 2 ** attempt) / 2);
        // Half of each step is fixed; a timer of Node may fire a millisecond early.
        expect(grown.filter((pause, attempt) => pause < (least[attempt] ?? 0) - 2)).toEqual([]);
        expect(grown.at(-1)).toBeGreaterThan(grown[0] ?? Infinity);
        expect(askedInVain).toBeGreaterThan(2 * (grown.length + 1));
      }
      // They began together and come back apart.
      expect(pauses[0]?.some((pause, attempt) => Math.abs(pause - (pauses[1]?.[attempt] ?? pause)) > 1)).toBe(true);

      expect(await holder.release()).toBe('released');
      const [first = 0, second = 0] = (await Promise.all(waiting)).sort((a, b) => a - b);
      expect(first).toBeGreaterThan(holder.fencingToken);
      expect(second).toBeGreaterThan(first);
      await fixture.expectNothingLeft();
    });
  });

  describe('the watchdog', () => {
    test('the lease is renewed at a third of it: it never falls far below two thirds, and there are three renewals a lease', async () => {
      using log = await ServerLog.start(redis);
      const ttl = 2_400;
      const lock = await fixture.client().acquire('order', { ttl });
      let lowest = ttl;
      const renewals = await waitFor(
        async () => {
          lowest = Math.min(lowest, await fixture.lease('order'));
          const calls = await log.calls(renewScript, fixture.redisKey('order'));
          return calls.length >= 7 && calls;
        },
        { timeoutMs: 50_000 },
      );
      // Two thirds, less what a busy machine may be late.
      expect(lowest).toBeGreaterThan(ttl / 3);
      const gaps = gapsOf(renewals);
      const mean = gaps.reduce((sum, gap) => sum + gap, 0) / gaps.length;
      expect(mean).toBeGreaterThan(ttl / 3 - ttl / 30 - 2);
      expect(mean).toBeLessThan(ttl / 2);
      expect(lock.held).toBe(true);
      expect(await lock.release()).toBe('released');
    });

    test('renewals end with the release', async () => {
      using log = await ServerLog.start(redis);
      const client = fixture.client();
      const lock = await client.acquire('order', { ttl: 1_500 });
      await client.acquire('witness', { ttl: 1_500 });
      await lock.release();
      const before = await log.calls(renewScript, fixture.redisKey('order'));
      await waitFor(async () => (await log.calls(renewScript, fixture.redisKey('witness'))).length >= 3);
      expect(await log.calls(renewScript, fixture.redisKey('order'))).toHaveLength(before.length);
    });

    test("a renewal that does not ask for the owner lengthens another's lock; ours ends when another owns the key: lost, signal aborted, no more renewals, the other's key untouched", async () => {
      const [slow, other] = [new BlindLock(redis, key, MINUTE), new ScriptLock(redis, key, 1_000)];
      expect(await other.tryLock()).toBe(true);
      await slow.renew();
      expect(await redis.pttl(key)).toBeGreaterThan(1_000);

      await endsWhen(async () => {
        const theirs = await fixture.giveToSomebodyElse('order');
        return async () => {
          expect(await redis.hgetall(fixture.redisKey('order'))).toEqual(theirs);
          expect(await redis.pttl(fixture.redisKey('order'))).toBe(-1);
        };
      });
    });

    test('renewals end when the key was deleted: lost, signal aborted, no more renewals, and the key is not made again', async () => {
      await endsWhen(async () => {
        await redis.del(fixture.redisKey('order'));
        return async () => expect(await fixture.isFree('order')).toBe(true);
      });
    });

    /** Takes a lock, lets something happen to its key, and looks at what the watchdog does. */
    async function endsWhen(happens: () => Promise<() => Promise<void>>): Promise<void> {
      using log = await ServerLog.start(redis);
      const client = fixture.client();
      const lost = recordEvents(client, 'lost');
      const lock = await client.acquire('order', { ttl: 1_500 });
      await client.acquire('witness', { ttl: 1_500 });
      const { signal, fencingToken } = lock;
      const expectUntouched = await happens();

      await waitFor(() => signal.aborted);
      expect(signal.reason).toBeInstanceOf(LockLostError);
      expect(lost).toEqual([expect.objectContaining({ key: 'order', fencingToken, reason: 'taken' })]);
      expect(lock.held).toBe(false);
      const before = await log.calls(renewScript, fixture.redisKey('order'));
      const witnessed = await log.calls(renewScript, fixture.redisKey('witness'));
      await waitFor(
        async () => (await log.calls(renewScript, fixture.redisKey('witness'))).length >= witnessed.length + 3,
      );
      expect(await log.calls(renewScript, fixture.redisKey('order'))).toHaveLength(before.length);
      await expectUntouched();
      expect(await lock.release()).toBe('lost');
      await expectUntouched();
      expect(lost).toHaveLength(1);
    }
  });

  describe('several nodes', () => {
    interface Node {
      shop: Shop;
      /** Of this node alone. */
      process: ProcessLocks;
      locks: LockClient;
    }

    /** Nodes of one application: each has connections and a memory of its own. */
    async function startNodes(count: number): Promise<Node[]> {
      const nodes = Array.from({ length: count }, async () => {
        const connection = fixture.userClient();
        await connection.ping();
        const locks = fixture.client({ wait: '50s', backoff: { initial: 1, max: 20 } });
        await locks.isLocked('connected');
        return { shop: new Shop(connection, `shop:${fixture.prefix}`), process: new ProcessLocks(), locks };
      });
      return Promise.all(nodes);
    }

    const range = (count: number): string[] => Array.from({ length: count }, (_, index) => String(index));

    /** Every user clicks twice on every node, all at once. */
    async function everybodyOrders(
      nodes: readonly Node[],
      guard: (node: Node, user: string, work: () => Promise<boolean>) => Promise<boolean>,
    ): Promise<{ orders: number; duplicates: number; confirmed: number }> {
      const clicks = nodes.flatMap((node) => [...range(20), ...range(20)].map((user) => ({ node, user })));
      const answers = await Promise.all(
        clicks.map(async ({ node, user }) => guard(node, user, async () => node.shop.orderOnce(user))),
      );
      const orders = (await nodes[0]?.shop.orders()) ?? [];
      const duplicates = orders.length - new Set(orders).size;
      return { orders: orders.length, duplicates, confirmed: answers.filter(Boolean).length };
    }

    test('order once: a lock in the process keeps one order a user on one node', async () => {
      const nodes = await startNodes(1);
      const sale = await everybodyOrders(nodes, async (node, user, work) => node.process.run(user, work));
      expect(sale).toEqual({ orders: 20, duplicates: 0, confirmed: 20 });
    });

    test('order once: a lock in the process fails on two nodes, each of which has its own', async () => {
      const nodes = await startNodes(2);
      const sale = await everybodyOrders(nodes, async (node, user, work) => node.process.run(user, work));
      expect(sale.duplicates).toBeGreaterThan(0);
      expect(sale.orders).toBe(20 + sale.duplicates);
    });

    test('order once: ours excludes both nodes, and there is one order a user', async () => {
      const nodes = await startNodes(2);
      const sale = await everybodyOrders(nodes, async (node, user, work) =>
        node.locks.run(lockKey`order:${user}`, work),
      );
      expect(sale).toEqual({ orders: 20, duplicates: 0, confirmed: 20 });
      await fixture.expectNothingLeft();
    });

    test('stock: with a lock in each process it falls below zero; with ours it ends at zero, however many buy', async () => {
      const nodes = await startNodes(3);
      const [first] = nodes;
      const products = range(20);
      const fillUp = async (): Promise<void> => {
        for (const product of products) await first?.shop.putIn(product, 1);
      };
      const stocks = async (): Promise<number[]> =>
        Promise.all(products.map(async (product) => first?.shop.stock(product) ?? NaN));
      const everybodyBuys = async (guard: (node: Node, product: string) => Promise<boolean>): Promise<number> => {
        const purchases = nodes.flatMap((node) =>
          products.flatMap((product) => [guard(node, product), guard(node, product)]),
        );
        return (await Promise.all(purchases)).filter(Boolean).length;
      };

      await fillUp();
      const oversold = await everybodyBuys(async (node, product) =>
        node.process.run(product, async () => node.shop.take(product)),
      );
      expect(oversold).toBeGreaterThan(20);
      expect(Math.min(...(await stocks()))).toBeLessThan(0);

      await fillUp();
      const sold = await everybodyBuys(async (node, product) =>
        node.locks.run(lockKey`stock:${product}`, async () => node.shop.take(product)),
      );
      expect(sold).toBe(20);
      expect(await stocks()).toEqual(products.map(() => 0));
    });

    test('stock: one product, 90 buyers on three nodes → as many are sold as there are', async () => {
      const nodes = await startNodes(3);
      await nodes[0]?.shop.putIn('hot', 25);
      const purchases = nodes.flatMap((node) =>
        range(30).map(async () => node.locks.run('stock:hot', async () => node.shop.subtract('hot'))),
      );
      expect((await Promise.all(purchases)).filter(Boolean)).toHaveLength(25);
      expect(await nodes[0]?.shop.stock('hot')).toBe(0);
      await fixture.expectNothingLeft();
    });

    test('stock: the lock of a user, as the articles use it, does not guard the stock of all; a condition in the write does', async () => {
      const [node] = await startNodes(1);
      if (!node) return;
      const everybodyBuys = async (buy: () => Promise<boolean>): Promise<number> => {
        const users = range(40).map(async (user) => node.locks.run(lockKey`order:${user}`, buy));
        return (await Promise.all(users)).filter(Boolean).length;
      };
      await node.shop.putIn('voucher', 20);
      expect(await everybodyBuys(async () => node.shop.subtract('voucher'))).toBeGreaterThan(20);

      await node.shop.putIn('voucher', 20);
      expect(await everybodyBuys(async () => node.shop.takeAtOnce('voucher'))).toBe(20);
      expect(await node.shop.stock('voucher')).toBe(0);
    });

    test('scheduled task: of three nodes whose clocks agree one runs it, and the others skip it without an error', async () => {
      const nodes = await startNodes(3);
      const othersHaveAnswered = deferred();
      let answered = 0;
      const outcomes = await Promise.all(
        nodes.map(async ({ locks }) => {
          const outcome = await locks.tryRun('scheduler:report', async () => othersHaveAnswered.promise);
          if (++answered === 2) othersHaveAnswered.resolve();
          return outcome;
        }),
      );
      expect(outcomes.filter(({ ran }) => ran)).toHaveLength(1);
      expect(outcomes.filter(({ ran }) => !ran)).toEqual([
        { ran: false, reason: 'busy' },
        { ran: false, reason: 'busy' },
      ]);
    });

    test('scheduled task: a node whose clock is late runs a short task again under a plain lock; minHold keeps it out', async () => {
      const [early, late] = [new ScriptLock(redis, key, MINUTE), new ScriptLock(redis, key, MINUTE)];
      expect(await early.tryLock()).toBe(true);
      await early.unlock(); // the task took a few ms
      expect(await late.tryLock()).toBe(true);

      const [onTime, behind] = await startNodes(2);
      const task = async (node: Node | undefined): Promise<unknown> =>
        node?.locks.tryRun('scheduler:report', () => 'done', { minHold: '1m' });
      expect(await task(onTime)).toEqual({ ran: true, value: 'done' });
      expect(await task(behind)).toEqual({ ran: false, reason: 'busy' });
      expect(await task(onTime)).toEqual({ ran: false, reason: 'busy' });
    });

    test('scheduled task: the next tick runs when minHold is over, by the clock of Redis', async () => {
      const [onTime, behind] = await startNodes(2);
      const options = { minHold: 400 };
      const first = await onTime?.locks.tryRun('scheduler:report', ({ fencingToken }) => fencingToken, options);
      const second = await waitFor(async () => {
        const outcome = await behind?.locks.tryRun('scheduler:report', ({ fencingToken }) => fencingToken, options);
        return outcome?.ran && outcome;
      });
      // Tokens tell the µs of an acquisition; the expiry of Redis is exact to some ms.
      expect(first).toMatchObject({ ran: true });
      expect(second.value - (first?.ran ? first.value : 0)).toBeGreaterThan(390_000);
    });
  });

  test('a holder that was paused beyond its lease writes over its successor; the fencing token rejects it in the write itself', async () => {
    const shop = new Shop(redis, `shop:${fixture.prefix}`);
    const [paused, next] = [fixture.client(), fixture.client()];
    const old = await paused.acquire('page', { ttl: 50, renew: false });
    const theirs = await next.acquire('page', { ttl: MINUTE, wait: '30s' });

    await shop.write('of the successor');
    await shop.write('of the past');
    expect(await shop.page()).toBe('of the past');

    expect(await shop.writeFenced('of the successor', theirs.fencingToken)).toBe(true);
    expect(await shop.writeFenced('of the past', old.fencingToken)).toBe(false);
    expect(await shop.page()).toBe('of the successor');
    expect(() => old.assertHeld()).toThrow(LockLostError);
  });
});
