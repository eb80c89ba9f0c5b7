import { expect, test } from '@jest/globals';
import { Controller, Get, Injectable, Param } from '@nestjs/common';
import { currentLock, Locked, LockLostError, LockService, LockShutdownError, type Duration } from 'nestjs-redis-lock';
import { startRedis } from '../../scripts/lib/servers.mjs';
import { describeWithRedis, describeWithRedisServer, newRedis } from '../support/redis.js';
import { deferred, waitFor } from '../support/wait-for.js';
import { locksOf, NestFixture, PLATFORMS, recordEvents, rejection } from './support/nest-fixture.js';

@Injectable()
class Orders {
  entered = deferred();
  leave = deferred();
  signal!: AbortSignal;

  constructor(private readonly locks: LockService) {}

  @Locked('order:<id>', { ttl: '1m', wait: '30s' })
  async buy(id: string): Promise<string> {
    this.signal = currentLock().signal;
    this.entered.resolve();
    await this.leave.promise;
    return id;
  }

  @Locked('order:<id>', { ttl: '1m' })
  async buyWithNested(id: string): Promise<string> {
    const bought = await this.buy(id);
    const paid = await this.pay(id);
    return `${bought} ${paid} ${await this.locks.run(`ship:${id}`, () => 'shipped')}`;
  }

  @Locked('payment:<id>', { ttl: '1m' })
  async pay(id: string): Promise<string> {
    return `paid ${id}`;
  }
}

@Controller()
class OrderController {
  constructor(private readonly orders: Orders) {}

  @Get('orders/:id')
  async buy(@Param('id') id: string): Promise<string> {
    return this.orders.buyWithNested(id);
  }
}

describeWithRedis('Shutdown of an application with locks', () => {
  const fixture = NestFixture.use();
  const start = async (drain: Duration = '30s') => {
    const app = await fixture.module({ providers: [Orders], lock: { shutdown: { drain } } });
    return { app, orders: app.get(Orders), locks: locksOf(app) };
  };

  test('close() while a body runs → waits for it, and it is released', async () => {
    const { app, orders, locks } = await start();
    const released = recordEvents(locks, 'released');
    const order: string[] = [];
    const buying = orders.buy('7').then((id) => order.push(`bought ${id}`));
    await orders.entered.promise;

    const closing = app.close().then(() => order.push('closed'));
    expect(await rejection(orders.pay('8'))).toBeInstanceOf(LockShutdownError);
    expect(await fixture.isLocked('order:7')).toBe(true);
    expect(orders.signal.aborted).toBe(false);
    orders.leave.resolve();
    await Promise.all([buying, closing]);

    expect(order).toEqual(['bought 7', 'closed']);
    expect(released).toMatchObject([{ key: 'order:7', outcome: 'released' }]);
    await fixture.expectNothingLocked();
  });

  test('close() while a body runs → its nested locks are still given, its own and others', async () => {
    const { app, orders } = await start();
    const buying = orders.buyWithNested('7');
    await orders.entered.promise;
    const closing = app.close();
    expect(await rejection(orders.buy('8'))).toBeInstanceOf(LockShutdownError);
    orders.leave.resolve();
    expect(await buying).toBe('7 paid 7 shipped');
    await closing;
    await fixture.expectNothingLocked();
  });

  test('close() while callers queue → they are told at once, not at the end of the drain', async () => {
    const { app, orders } = await start();
    const buying = orders.buy('7');
    await orders.entered.promise;
    const inProcess = rejection(orders.buy('7'));
    await fixture.lockElsewhere('order:8');
    const { asked } = await fixture.watchAsking('order:8');
    const atRedis = rejection(orders.buy('8'));
    await asked();

    const closing = app.close();
    expect(await inProcess).toBeInstanceOf(LockShutdownError);
    expect(await atRedis).toBeInstanceOf(LockShutdownError);
    orders.leave.resolve();
    expect(await buying).toBe('7');
    await closing;
  });

  test('the drain is over and a body still runs → released in Redis, its signal aborts, it counts as lost', async () => {
    const { app, orders, locks } = await start(100);
    const lost = recordEvents(locks, 'lost');
    const buying = rejection(orders.buyWithNested('7'));
    await orders.entered.promise;

    await app.close();
    // Its lease would run for a minute.
    expect(await fixture.lockedKeys()).toEqual([]);
    expect(orders.signal.reason).toBeInstanceOf(LockLostError);
    expect(orders.signal.reason).toMatchObject({ reason: 'shutdown', key: 'order:7' });
    expect(lost).toMatchObject([{ key: 'order:7', reason: 'shutdown' }]);

    orders.leave.resolve();
    expect(await buying).toBeInstanceOf(LockLostError);
  });

  test('after close(), and a second close() → LockShutdownError, and nothing happens', async () => {
    const { app, orders, locks } = await start();
    await app.close();
    await locks.close();
    expect(await rejection(orders.pay('7'))).toBeInstanceOf(LockShutdownError);
    expect(await rejection(locks.run('x', () => 1))).toBeInstanceOf(LockShutdownError);
    expect(await fixture.lockedKeys()).toEqual([]);
  });

  for (const platform of PLATFORMS) {
    test(`app.close() on ${platform} while a handler runs → its client gets its answer, with all nested locks`, async () => {
      const server = await fixture.server({
        providers: [Orders],
        controllers: [OrderController],
        platform,
        lock: { shutdown: { drain: '30s' } },
      });
      const orders = server.app.get(Orders);
      const answer = server.get('/orders/7');
      await orders.entered.promise;
      const closing = server.app.close();
      await waitFor(async () => (await rejection(server.locks.acquire('x'))) instanceof LockShutdownError);
      orders.leave.resolve();
      expect(await answer).toMatchObject({ status: 200, text: '7 paid 7 shipped' });
      await closing;
      await fixture.expectNothingLocked();
    });
  }
});

describeWithRedisServer('Connections of an application with locks', () => {
  const fixture = NestFixture.use();

  test('close() → ours are closed after the last lock is released, and nobody else is', async () => {
    await using redis = await startRedis();
    const inspector = newRedis(redis.url);
    fixture.closeLater(() => inspector.disconnect());
    const connections = async (): Promise<number> =>
      String(await inspector.client('LIST'))
        .trim()
        .split('\n').length;
    await inspector.ping();
    expect(await connections()).toBe(1);

    const app = await fixture.module({
      providers: [Orders],
      lock: { connection: redis.url, shutdown: { drain: '30s' } },
    });
    const orders = app.get(Orders);
    const buying = orders.buy('7');
    await orders.entered.promise;
    expect(await connections()).toBeGreaterThan(1);

    const closing = app.close();
    expect(await rejection(orders.pay('8'))).toBeInstanceOf(LockShutdownError);
    expect(await connections()).toBeGreaterThan(1);
    orders.leave.resolve();
    await Promise.all([buying, closing]);
    await waitFor(async () => (await connections()) === 1);
    expect(await inspector.keys('*{*')).toEqual([]);
  });
});
