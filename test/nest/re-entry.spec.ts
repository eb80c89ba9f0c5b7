import { expect, test } from '@jest/globals';
import { Controller, Get, Injectable, Param } from '@nestjs/common';
import { currentLock, Locked, LockBusyError } from 'nestjs-redis-lock';
import { describeWithRedis } from '../support/redis.js';
import { deferred } from '../support/wait-for.js';
import { locksOf, NestFixture, recordEvents, rejection } from './support/nest-fixture.js';
import { Overlap } from './support/overlap.js';

@Injectable()
class Orders {
  readonly overlap = new Overlap();
  readonly tokens: number[] = [];
  afterB: () => Promise<void> = async () => {};

  @Locked('order:<id>', { wait: '20s' })
  async a(id: number): Promise<string> {
    this.tokens.push(currentLock().fencingToken);
    const result = await this.b(id);
    this.tokens.push(currentLock().fencingToken);
    currentLock().assertHeld();
    await this.afterB();
    return `a(${result})`;
  }

  @Locked('order:<id>', { wait: '20s' })
  async b(id: number): Promise<string> {
    this.tokens.push(currentLock().fencingToken);
    return this.overlap.during(async () => `b(${id})`);
  }

  @Locked('order:<id>', { wait: '20s' })
  async twoAtOnce(id: number): Promise<string[]> {
    return Promise.all([this.b(id), this.b(id)]);
  }

  @Locked('order:<id>')
  async leavesChildBehind(
    id: number,
    parentHasEnded: Promise<void>,
  ): Promise<{ child: Promise<string>; token: number }> {
    const child = parentHasEnded.then(async () => this.b(id));
    return { child, token: currentLock().fencingToken };
  }

  @Locked('order:<id>', { wait: 0, reentrant: false })
  async notReentrant(id: number): Promise<number> {
    return id;
  }

  @Locked('order:<id>')
  async callsNotReentrant(id: number): Promise<number> {
    return this.notReentrant(id);
  }
}

@Controller()
class OrdersController {
  constructor(private readonly orders: Orders) {}

  @Get('orders/:id')
  async order(@Param('id') id: number): Promise<string> {
    return this.orders.b(id);
  }
}

describeWithRedis('Re-entry through decorated methods', () => {
  const fixture = NestFixture.use();

  test('case 23: a() calls b() on the same key → no deadlock, and after b the key is held by the same token', async () => {
    const app = await fixture.module({ providers: [Orders] });
    const acquired = recordEvents(locksOf(app), 'acquired');
    const orders = app.get(Orders);
    orders.afterB = async () => {
      // What others see between b and the end of a.
      expect(await fixture.client().tryAcquire('order:7')).toBeNull();
      expect(await fixture.redis.hkeys(fixture.redisKey('order:7'))).toEqual([
        expect.stringMatching(new RegExp(`/${orders.tokens[0]}$`)),
      ]);
    };

    expect(await orders.a(7)).toBe('a(b(7))');

    expect(orders.tokens).toHaveLength(3);
    expect(new Set(orders.tokens)).toEqual(new Set([acquired[0]?.fencingToken]));
    expect(acquired).toHaveLength(1);
    await fixture.expectNothingLocked();
  });

  test('case 23: with reentrant: false → the nested call waits like anybody else', async () => {
    const app = await fixture.module({ providers: [Orders] });
    expect(await rejection(app.get(Orders).callsNotReentrant(7))).toBeInstanceOf(LockBusyError);
    expect(await app.get(Orders).notReentrant(7)).toBe(7);
    await fixture.expectNothingLocked();
  });

  test('case 24: ten requests on one service object → one at a time', async () => {
    const server = await fixture.server({ providers: [Orders], controllers: [OrdersController] });
    const { overlap } = server.app.get(Orders);

    const answers = await Promise.all(Array.from({ length: 10 }, async () => server.get('/orders/7')));

    expect(answers.map(({ status, text }) => [status, text])).toEqual(Array(10).fill([200, 'b(7)']));
    expect(overlap).toMatchObject({ runs: 10, most: 1 });
    await fixture.expectNothingLocked();
  });

  test('case 24: the counter of overlaps is able to count: other keys do run at the same time', async () => {
    const server = await fixture.server({ providers: [Orders], controllers: [OrdersController] });
    const { overlap } = server.app.get(Orders);
    overlap.untilAtOnce = 3;
    await Promise.all([7, 8, 9].map(async (id) => server.get(`/orders/${id}`)));
    expect(overlap).toMatchObject({ runs: 3, most: 3 });
  });

  test('case 25: Promise.all([b(), b()]) inside a() → the two run one after the other, under the one token', async () => {
    const app = await fixture.module({ providers: [Orders] });
    const acquired = recordEvents(locksOf(app), 'acquired');
    const orders = app.get(Orders);

    expect(await orders.twoAtOnce(7)).toEqual(['b(7)', 'b(7)']);

    expect(orders.overlap).toMatchObject({ runs: 2, most: 1 });
    expect(acquired).toHaveLength(1);
    expect(new Set(orders.tokens)).toEqual(new Set([acquired[0]?.fencingToken]));
    await fixture.expectNothingLocked();
  });

  test('case 26: a child that asks for the key after a() has ended → it acquires afresh', async () => {
    const app = await fixture.module({ providers: [Orders] });
    const orders = app.get(Orders);
    const parentHasEnded = deferred();

    const { child, token } = await orders.leavesChildBehind(7, parentHasEnded.promise);
    expect(await fixture.isLocked('order:7')).toBe(false);
    // Whoever has the key now keeps the child out: it is in no lock any more.
    const other = await fixture.lockElsewhere('order:7');
    const { asked } = await fixture.watchAsking('order:7');
    parentHasEnded.resolve();
    await asked();
    expect(orders.overlap.runs).toBe(0);
    await other.release();

    expect(await child).toBe('b(7)');
    expect(orders.tokens[0]).toBeGreaterThan(other.fencingToken);
    expect(other.fencingToken).toBeGreaterThan(token);
    await fixture.expectNothingLocked();
  });
});
