import { expect, test } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { currentLock, Locked, LockArgumentError, LockBusyError, lockKey } from 'nestjs-redis-lock';
import { describeWithRedis } from '../support/redis.js';
import { locksOf, NestFixture, recordEvents, rejection, thrownBy } from './support/nest-fixture.js';

interface User {
  id: number;
  profile: { id: string; tags: string[] };
}

@Injectable()
class Orders {
  calls = 0;

  @Locked('user:<user.profile.id>')
  async twoLevels(user: User): Promise<string> {
    return this.heldKey(user);
  }

  @Locked('user:<user.idd>')
  async typo(user: User): Promise<string> {
    return this.heldKey(user);
  }

  @Locked('user:<user.profile.tags.0>:<user.profile.tags.1>')
  async intoArrays(user: User): Promise<string> {
    return this.heldKey(user);
  }

  @Locked('user:<user>')
  async wholeObject(user: User): Promise<string> {
    return this.heldKey(user);
  }

  @Locked('value:<value>')
  async value(value: unknown): Promise<string> {
    return this.heldKey(value);
  }

  @Locked('number:<id:int>')
  async integer(id: unknown): Promise<string> {
    return this.heldKey(id);
  }

  @Locked('everybody')
  async forEverybody(user: User): Promise<string> {
    return this.heldKey(user);
  }

  private heldKey(unneeded: unknown): string {
    void unneeded;
    this.calls++;
    return currentLock().key;
  }
}

const user: User = { id: 7, profile: { id: 'p-7', tags: ['a:b', 'c'] } };

describeWithRedis('What stands in the placeholders of @Locked', () => {
  const fixture = NestFixture.use();
  const start = async (): Promise<Orders> =>
    (await fixture.module({ providers: [Orders], lock: { wait: 0 } })).get(Orders);

  test('case 31: <user.profile.id>, two levels down → the value', async () => {
    const orders = await start();
    expect(await orders.twoLevels(user)).toBe('user:p-7');
    await fixture.lockElsewhere('user:p-7');
    expect(await rejection(orders.twoLevels(user))).toMatchObject({ code: 'LOCK_BUSY', key: 'user:p-7' });
    expect(await orders.twoLevels({ ...user, profile: { ...user.profile, id: 'p-8' } })).toBe('user:p-8');
  });

  test('case 31: <user.idd>, no such property → an error naming the placeholder, the method and what it got', async () => {
    const app = await fixture.module({ providers: [Orders] });
    const acquired = recordEvents(locksOf(app), 'acquired');
    const error = await rejection(app.get(Orders).typo(user));
    expect(error).toBeInstanceOf(LockArgumentError);
    expect((error as Error).message).toContain('<user.idd>');
    expect((error as Error).message).toContain('@Locked on Orders.typo');
    expect((error as Error).message).toContain('undefined');
    expect(acquired).toEqual([]);
    expect(app.get(Orders).calls).toBe(0);
  });

  test('case 31: nothing above the property → the same error, and no TypeError', async () => {
    const orders = await start();
    for (const nothing of [undefined, null, { id: 1 }]) {
      const error = await rejection(orders.twoLevels(nothing as never));
      expect(error).toBeInstanceOf(LockArgumentError);
      expect((error as Error).message).toMatch(/Orders\.twoLevels.*<user\.profile\.id>.*undefined/);
    }
  });

  test('case 31: <usr.id>, no such parameter → the class cannot be defined, so the app does not start', () => {
    const error = thrownBy(() => {
      class Mistyped {
        @Locked('user:<usr.id>')
        async buy(user: User): Promise<number> {
          return user.id;
        }
      }
      return Mistyped;
    });
    expect(error).toBeInstanceOf(LockArgumentError);
    expect((error as Error).message).toMatch(/@Locked on Mistyped\.buy.*"usr".*\(user\)/);
  });

  test.each([
    { what: 'a string', value: 'x', key: 'value:x' },
    { what: 'an empty string', value: '', key: 'value:' },
    { what: 'zero', value: 0, key: 'value:0' },
    { what: 'a bigint', value: 12345678901234567890n, key: 'value:12345678901234567890' },
    { what: 'a boolean', value: false, key: 'value:false' },
  ])('case 31: $what is a value', async ({ value, key }) => {
    expect(await (await start()).value(value)).toBe(key);
  });

  test.each([
    ['an object', {}],
    ['an array', ['x']],
    ['null', null],
    ['undefined', undefined],
    ['NaN', NaN],
    ['Infinity', Infinity],
    ['a Date', new Date(0)],
    ['a symbol', Symbol('x')],
    ['a function', () => 'x'],
  ])('case 31: %s is no value → an error, never a key of its text', async (_what, value) => {
    const orders = await start();
    const error = await rejection(orders.value(value));
    expect(error).toBeInstanceOf(LockArgumentError);
    expect((error as Error).message).toMatch(/Orders\.value.*<value>.*Name a property/);
    expect(orders.calls).toBe(0);
  });

  test('case 31: <id:int> takes canonical integers only', async () => {
    const orders = await start();
    for (const id of [9, '9', 9n]) expect(await orders.integer(id)).toBe('number:9');
    for (const id of ['09', '9.0', '1e1', ' 9', '', 9.5, 2 ** 53, true]) {
      expect(await rejection(orders.integer(id))).toBeInstanceOf(LockArgumentError);
    }
  });

  test('case 31: values with separators → two tuples never make one key', async () => {
    const orders = await start();
    const keys = new Set<string>();
    for (const tags of [
      ['a:b', 'c'],
      ['a', 'b:c'],
      ['a%3Ab', 'c'],
      ['a', 'b', 'c'],
    ]) {
      keys.add(await orders.intoArrays({ ...user, profile: { ...user.profile, tags } }));
    }
    expect(keys.size).toBe(4);
    expect(keys).toContain(lockKey`user:${'a:b'}:${'c'}`.text);
  });

  test('case 33: a static key with an entity in the arguments → allowed, and it locks for everybody', async () => {
    const orders = await start();
    expect(await orders.forEverybody(user)).toBe('everybody');
    await fixture.lockElsewhere('everybody');
    const busy = await Promise.allSettled([user, { ...user, id: 8 }].map(async (each) => orders.forEverybody(each)));
    expect(busy).toEqual(Array(2).fill({ status: 'rejected', reason: expect.objectContaining({ key: 'everybody' }) }));
  });

  test('case 33: a key made of the entity itself → an error with a remedy, never "[object Object]"', async () => {
    const error = await rejection((await start()).wholeObject(user));
    expect(error).toBeInstanceOf(LockArgumentError);
    expect(error).not.toBeInstanceOf(LockBusyError);
    expect((error as Error).message).toMatch(/<user>.*Name a property that identifies it/);
  });
});
