import { expect, test } from '@jest/globals';
import { currentLock, LockBusyError, LockLostError, type LockClient, type LockHandle } from 'nestjs-redis-lock';
import { describeWithRedisServer } from '../support/redis.js';
import { deferred } from '../support/wait-for.js';
import { LockFixture, rejection } from './support/lock-fixture.js';

describeWithRedisServer('Re-entry', () => {
  const fixture = LockFixture.use();

  /** Every way to take the lock for a piece of work. */
  const ways: Record<string, (client: LockClient, work: (lock: LockHandle) => Promise<unknown>) => Promise<unknown>> = {
    run: async (client, work) => client.run('order', work),
    'tryRun with wait 0': async (client, work) => client.tryRun('order', work),
    'acquire and handle.run': async (client, work) => {
      await using lock = await client.acquire('order');
      return await lock.run(async () => work(lock));
    },
    'tryAcquire and handle.run': async (client, work) => {
      await using lock = await client.tryAcquire('order');
      if (!lock) throw new Error('Not obtained');
      return await lock.run(async () => work(lock));
    },
  };
  const nestings = Object.keys(ways).flatMap((outer) => Object.keys(ways).map((inner) => [outer, inner] as const));
  const way = (name: string): (typeof ways)[string] => ways[name] as (typeof ways)[string];

  test.each(nestings)(
    'case 23: %s inside of which %s asks for the same key → no deadlock, and still held by the same token after it',
    async (outer, inner) => {
      const client = fixture.client();
      const log = await fixture.commandLog();
      const seen: { tokens: number[]; holds: string[][] } = { tokens: [], holds: [] };
      const look = async (lock: LockHandle): Promise<void> => {
        seen.tokens.push(lock.fencingToken, currentLock('order').fencingToken);
        seen.holds.push(await fixture.holds('order'));
      };
      await way(outer)(client, async (a) => {
        await look(a);
        await way(inner)(client, look);
        await look(a);
        expect(a.held).toBe(true);
        expect(await fixture.client().tryAcquire('order')).toBeNull();
      });

      expect(new Set(seen.tokens).size).toBe(1);
      expect(seen.holds).toHaveLength(3);
      expect(new Set(seen.holds.map(String)).size).toBe(1);
      const ours = (await log.calls()).filter(({ args }) => seen.holds[0]?.[0]?.startsWith(args[0] ?? ''));
      expect(ours.map(({ script }) => script)).toEqual(['acquire', 'release']);
      await fixture.expectNothingLeft();
    },
  );

  test('case 23: the inner work throws → the outer one still holds, and goes on', async () => {
    const client = fixture.client();
    const own = new Error('Inner');
    const value = await client.run('order', async (a) => {
      expect(await rejection(client.run('order', () => Promise.reject(own)))).toBe(own);
      expect(a.held).toBe(true);
      expect(await fixture.holds('order')).toHaveLength(1);
      return 'outer';
    });
    expect(value).toBe('outer');
    await fixture.expectNothingLeft();
  });

  test('case 23: three levels with another key between them → one hold each', async () => {
    const client = fixture.client();
    await client.run('order', async (a) =>
      client.run('stock', async () =>
        client.run('order', async (c) => {
          expect(c.fencingToken).toBe(a.fencingToken);
          expect(currentLock('stock').fencingToken).not.toBe(a.fencingToken);
          expect(await fixture.holds('order')).toHaveLength(1);
        }),
      ),
    );
    await fixture.expectNothingLeft();
  });

  test('case 23: the outer lock is lost → the nested call is told so, and does not take the lock afresh', async () => {
    const client = fixture.client();
    const error = await rejection(
      client.run('order', async (lock) => {
        await fixture.redis.del(fixture.redisKey('order'));
        await rejection(lock.extend());
        let ran = false;
        const inner = await rejection(client.run('order', () => (ran = true)));
        expect(inner).toBeInstanceOf(LockLostError);
        expect(ran).toBe(false);
        expect(await rejection(client.acquire('order'))).toBeInstanceOf(LockLostError);
        expect(await fixture.isFree('order')).toBe(true);
      }),
    );
    expect(error).toBeInstanceOf(LockLostError);
    await fixture.expectNothingLeft();
  });

  test('case 23: reentrant false → the nested call waits like anybody else', async () => {
    const client = fixture.client();
    await client.run('order', async () => {
      const error = await rejection(client.run('order', () => 'never', { reentrant: false, wait: 0 }));
      expect(error).toBeInstanceOf(LockBusyError);
    });
    await fixture.expectNothingLeft();
  });

  /** What an application has: one service, many requests. */
  class OrderService {
    running = 0;
    most = 0;
    readonly tokens = new Set<number>();

    constructor(private readonly locks: LockClient) {}

    async buy(): Promise<void> {
      await this.locks.run(
        'order',
        async (lock) => {
          this.most = Math.max(this.most, ++this.running);
          this.tokens.add(lock.fencingToken);
          // Work that gives every other request the chance to come in between.
          await fixture.redis.ping();
          await this.check();
          this.running--;
        },
        { wait: '1m' },
      );
    }

    private async check(): Promise<void> {
      await this.locks.run('order', async () => fixture.redis.ping());
    }
  }

  test('case 24: requests on one service object → they exclude each other', async () => {
    const service = new OrderService(fixture.client());
    await Promise.all(Array.from({ length: 20 }, async () => service.buy()));
    expect(service.most).toBe(1);
    expect(service.tokens.size).toBe(20);
    await fixture.expectNothingLeft();
  });

  test('case 24: a request comes while another one is inside → it waits until that one has ended', async () => {
    const client = fixture.client();
    const [inside, finish] = [deferred(), deferred()];
    const steps: string[] = [];
    const first = client.run('order', async () => {
      inside.resolve();
      await finish.promise;
      steps.push('first ends');
    });
    await inside.promise;
    const second = client.run('order', () => steps.push('second begins'), { wait: '1m' });
    expect(await rejection(client.run('order', () => steps.push('never'), { wait: 100 }))).toMatchObject({
      code: 'LOCK_TIMEOUT',
    });
    finish.resolve();
    await Promise.all([first, second]);
    expect(steps).toEqual(['first ends', 'second begins']);
    await fixture.expectNothingLeft();
  });

  test('case 24: requests that come out of a context made inside of a lock, which has ended → they exclude each other', async () => {
    const client = fixture.client();
    const service = new OrderService(client);
    const late = deferred();
    let requests: Promise<void>[] = [];
    await client.run('other', () => {
      // As a connection pool or an event emitter does that was made inside of somebody's lock.
      requests = [late.promise.then(async () => service.buy()), late.promise.then(async () => service.buy())];
    });
    late.resolve();
    await Promise.all(requests);
    expect(service.most).toBe(1);
    expect(service.tokens.size).toBe(2);
    await fixture.expectNothingLeft();
  });

  test('case 25: Promise.all of two nested calls → one after the other', async () => {
    const client = fixture.client();
    const steps: string[] = [];
    const b = async (name: string): Promise<unknown> =>
      client.run('order', async () => {
        steps.push(`${name} begins`);
        for (let n = 0; n < 5; n++) await fixture.redis.ping();
        steps.push(`${name} ends`);
      });
    await client.run('order', async (a) => {
      await Promise.all([b('first'), b('second'), b('third')]);
      expect(a.held).toBe(true);
      expect(await fixture.holds('order')).toHaveLength(1);
    });
    const inTurn = ['first', 'second', 'third'].flatMap((name) => [`${name} begins`, `${name} ends`]);
    expect(steps).toEqual(inTurn);
    await fixture.expectNothingLeft();
  });

  test('case 25: two nested calls side by side, each of which nests once more → no deadlock, one after the other', async () => {
    const client = fixture.client();
    const steps: string[] = [];
    const b = async (name: string): Promise<unknown> =>
      client.run('order', async () => {
        steps.push(name);
        await client.run('order', async () => fixture.redis.ping());
        steps.push(name);
      });
    await client.run('order', async () => Promise.all([b('first'), b('second')]));
    expect(steps).toEqual(['first', 'first', 'second', 'second']);
    await fixture.expectNothingLeft();
  });

  test('case 25: the second of two nested calls does not want to wait → busy', async () => {
    const client = fixture.client();
    const first = deferred();
    await client.run('order', async () => {
      const running = client.run('order', async () => first.promise);
      const error = await rejection(client.run('order', () => 'never', { wait: 0 }));
      expect(error).toBeInstanceOf(LockBusyError);
      first.resolve();
      await running;
    });
    await fixture.expectNothingLeft();
  });

  test('case 26: a child that nobody awaited asks after the lock has ended → it acquires afresh', async () => {
    const client = fixture.client();
    const ended = deferred();
    let child: Promise<number> | undefined;
    const parent = await client.run('order', (lock) => {
      child = ended.promise.then(async () => client.run('order', (own) => own.fencingToken));
      return lock.fencingToken;
    });
    expect(await fixture.isFree('order')).toBe(true);
    ended.resolve();
    expect(await child).toBeGreaterThan(parent);
    await fixture.expectNothingLeft();
  });

  test('case 26: a child asks after the lock has ended while somebody else holds it → it waits for them', async () => {
    const client = fixture.client();
    const ended = deferred();
    const steps: string[] = [];
    let child: Promise<unknown> | undefined;
    await client.run('order', () => {
      child = ended.promise.then(async () => client.run('order', () => steps.push('child'), { wait: '1m' }));
    });
    const theirs = await fixture.client().acquire('order', { ttl: '1m' });
    ended.resolve();
    expect(await rejection(client.run('order', () => 'never', { wait: 200 }))).toMatchObject({ code: 'LOCK_TIMEOUT' });
    steps.push('somebody else');
    await theirs.release();
    await child;
    expect(steps).toEqual(['somebody else', 'child']);
    await fixture.expectNothingLeft();
  });

  test('case 26: a child enters before the parent ends and outlives it → held until the child has ended', async () => {
    const client = fixture.client();
    const [entered, finish] = [deferred(), deferred()];
    let child: Promise<number> | undefined;
    const parent = await client.run('order', async (lock) => {
      child = client.run('order', async (own) => {
        entered.resolve();
        await finish.promise;
        expect(own.held).toBe(true);
        return own.fencingToken;
      });
      await entered.promise;
      return lock.fencingToken;
    });
    expect(await fixture.holds('order')).toHaveLength(1);
    expect(await fixture.client().tryAcquire('order')).toBeNull();
    finish.resolve();
    expect(await child).toBe(parent);
    await fixture.expectNothingLeft();
  });

  test('case 26: a child waits for its turn inside a lock that ends meanwhile → it acquires afresh after it', async () => {
    const client = fixture.client();
    const [entered, finish] = [deferred(), deferred()];
    const children: Promise<number>[] = [];
    const parent = await client.run('order', async (lock) => {
      children.push(
        client.run('order', async (own) => {
          entered.resolve();
          await finish.promise;
          return own.fencingToken;
        }),
        client.run('order', (own) => own.fencingToken, { wait: '1m' }),
      );
      await entered.promise;
      return lock.fencingToken;
    });
    finish.resolve();
    const [first, second] = await Promise.all(children);
    expect(first).toBe(parent);
    expect(second).toBeGreaterThan(parent);
    await fixture.expectNothingLeft();
  });
});
