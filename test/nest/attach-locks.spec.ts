import { expect, test } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { createLockClient, currentLock, Locked, LockArgumentError, LockBusyError } from 'nestjs-redis-lock';
import { attachLocks } from 'nestjs-redis-lock/testing';
import { describeWithRedis } from '../support/redis.js';
import { locksOf, NestFixture, rejection, thrownBy } from './support/nest-fixture.js';

@Injectable()
class Orders {
  constructor(readonly shop: string) {}

  @Locked('order:<id>', { wait: 0 })
  async buy(id: number): Promise<string> {
    return `${this.shop} ${id} ${currentLock().key}`;
  }
}

class SpecialOrders extends Orders {
  override async buy(id: number): Promise<string> {
    return `special ${id} ${currentLock().key}`;
  }
}

class WithoutLocks {
  async buy(id: number): Promise<number> {
    return id;
  }
}

describeWithRedis('Instances that Nest did not build', () => {
  const fixture = NestFixture.use();

  test('new → an error that says what to do, and the method does not run', async () => {
    const error = await rejection(Promise.resolve().then(async () => new Orders('x').buy(7)));
    expect(error).toBeInstanceOf(LockArgumentError);
    expect((error as Error).message).toMatch(
      /^Orders\.buy is locked.*Nest did not build it.*attachLocks\(instance, locks\)/,
    );
  });

  test('useFactory and useValue → the same error at the first call', async () => {
    const app = await fixture.module({
      providers: [
        { provide: 'FACTORY', useFactory: () => new Orders('factory') },
        { provide: 'VALUE', useValue: new Orders('value') },
      ],
    });
    for (const token of ['FACTORY', 'VALUE']) {
      const error = await rejection(Promise.resolve().then(async () => app.get<Orders>(token).buy(7)));
      expect((error as Error).message).toMatch(/^Orders\.buy is locked/);
    }
  });

  test('a method that lost its this → the same error', async () => {
    const app = await fixture.module({ providers: [{ provide: String, useValue: 'x' }, Orders] });
    const buy = Reflect.get<Orders, 'buy'>(app.get(Orders), 'buy');
    const error = await rejection(Promise.resolve().then(async () => buy(7)));
    expect((error as Error).message).toMatch(/^Orders\.buy is locked/);
  });

  test('attachLocks with the client of an application → locked there', async () => {
    const app = await fixture.module({ providers: [] });
    const orders = attachLocks(new Orders('attached'), locksOf(app));
    expect(await orders.buy(7)).toBe('attached 7 order:7');
    await fixture.lockElsewhere('order:7');
    expect(await rejection(orders.buy(7))).toBeInstanceOf(LockBusyError);
  });

  test('attachLocks with a memory client, also to a subclass that overrides → locked without Redis', async () => {
    const locks = createLockClient({ store: 'memory' });
    fixture.closeLater(() => locks.close());
    const orders = attachLocks(new SpecialOrders('x'), locks);
    expect(await orders.buy(7)).toBe('special 7 order:7');
    const busy = await locks.acquire('order:8');
    expect(await rejection(orders.buy(8))).toBeInstanceOf(LockBusyError);
    await busy.release();
  });

  test('attachLocks a second time → the last client counts', async () => {
    const [first, second] = [fixture.client(), fixture.client({ prefix: `${fixture.prefix}-2` })];
    const orders = attachLocks(attachLocks(new Orders('x'), first), second);
    await fixture.lockElsewhere('order:7');
    expect(await orders.buy(7)).toBe('x 7 order:7');
  });

  test('attachLocks to what has no locked method → an error that names the class', () => {
    const error = thrownBy(() => attachLocks(new WithoutLocks(), fixture.client()));
    expect(error).toBeInstanceOf(LockArgumentError);
    expect((error as Error).message).toMatch(/attachLocks: WithoutLocks has no @Locked or @CronLocked method/);
  });
});
