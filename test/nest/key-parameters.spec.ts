import { expect, test } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { currentLock, Locked, LockArgumentError, lockKey } from 'nestjs-redis-lock';
import { describeWithRedis } from '../support/redis.js';
import { NestFixture, rejection, thrownBy } from './support/nest-fixture.js';

interface Order {
  id: number;
  user: { id: number };
}

/** The key that the caller runs under; the arguments are what a method has and does not need. */
function heldKey(...unneeded: unknown[]): string {
  void unneeded;
  return currentLock().key;
}

/** A decorator as many have one: what it returns has no parameters of its own. */
const Traced: MethodDecorator = (_target, _name, descriptor: PropertyDescriptor) => {
  const method = descriptor.value as (...args: unknown[]) => unknown;
  descriptor.value = function (this: unknown, ...args: unknown[]): unknown {
    return method.apply(this, args);
  };
};

class BaseOrders {
  text(): string {
    return 'super';
  }
}

@Injectable()
class Orders extends BaseOrders {
  @Locked('order:<0.id>:<1>')
  async positions({ id }: Order, [first]: number[] | string = 'x'): Promise<string> {
    return heldKey(id, first);
  }

  @Locked('order:<0.id>:<0.user.id>')
  async destructured({ id, user: { id: userId } }: Order): Promise<string> {
    return heldKey(id, userId);
  }

  @Locked(({ id, user }: Order) => lockKey`order:${id}:${user.id}`)
  async byFunction({ id, user: { id: userId } }: Order): Promise<string> {
    return heldKey(id, userId);
  }

  @Locked('order:<id>')
  async defaulted(id = 5, { nested } = { nested: [')', '(', ','] }): Promise<string> {
    return heldKey(id, nested);
  }

  @Locked('orders:<ids.0>:<ids.1>')
  async rest(...ids: number[]): Promise<string> {
    return heldKey(ids);
  }

  @Locked('orders:<first>:<2>')
  async positionInRest(first: number, ...others: number[]): Promise<string> {
    return heldKey(first, others);
  }

  @Locked('order:<0>')
  async minified(a: number, b: string): Promise<string> {
    return heldKey(a, b);
  }

  @Locked('order:<0>')
  @Traced
  async hidden(id: number): Promise<string> {
    return heldKey(id);
  }

  @Traced
  @Locked('order:<id>')
  async hiddenAfterwards(id: number): Promise<string> {
    return heldKey(id);
  }

  @Locked('tricky:<id>:<last>')
  async ['a name that is none'](
    id /* , no: ( */ = 'a, (b',
    pattern = /[,)]\/\(/u.source,
    last = `,${'('}`,
  ): Promise<string> {
    return heldKey(id, pattern, last);
  }

  @Locked('order:<größe>')
  async unicode(größe: number): Promise<string> {
    return heldKey(größe);
  }

  readonly #secret = 'secret';

  @Locked('order:<id>')
  async privateAndSuper(id: number): Promise<string> {
    return `${heldKey(id)} ${this.#secret} ${super.text()}`;
  }
}

describeWithRedis('The names of parameters in the key of @Locked', () => {
  const fixture = NestFixture.use();
  const order: Order = { id: 7, user: { id: 1 } };

  test.each<[string, string, (orders: Orders) => Promise<string>]>([
    ['destructured, by position', 'order:7:1', (orders) => orders.destructured(order)],
    ['destructured and defaulted, by position', 'order:7:y', (orders) => orders.positions(order, 'y')],
    ['destructured, a key function', 'order:7:1', (orders) => orders.byFunction(order)],
    ['defaulted, by name', 'order:7', (orders) => orders.defaulted(7)],
    ['rest, by name and index', 'orders:3:4', (orders) => orders.rest(3, 4, 5)],
    ['rest, by position behind another', 'orders:1:3', (orders) => orders.positionInRest(1, 2, 3)],
    ['minified, by position', 'order:7', (orders) => orders.minified(7, 'b')],
    ['hidden by a decorator below, by position', 'order:7', (orders) => orders.hidden(7)],
    ['a decorator that would hide it, above', 'order:7', (orders) => orders.hiddenAfterwards(7)],
    [
      'with comments, brackets and quotes between',
      'tricky:x:z',
      (orders) => orders['a name that is none']('x', '', 'z'),
    ],
    ['not of ASCII', 'order:7', (orders) => orders.unicode(7)],
    ['of a method with private fields and super', 'order:7 secret super', (orders) => orders.privateAndSuper(7)],
  ])('case 32: %s → %s', async (_what, key, call) => {
    const orders = (await fixture.module({ providers: [Orders] })).get(Orders);
    expect(await call(orders)).toBe(key);
    await fixture.expectNothingLocked();
  });

  test('case 32: of a method with import.meta in its body → the name is read', async () => {
    @Injectable()
    class Templates {
      @Locked('template:<name>')
      async render(name: string): Promise<string> {
        return `${heldKey(name)} ${typeof import.meta.url}`;
      }
    }
    const templates = (await fixture.module({ providers: [Templates] })).get(Templates);
    expect(await templates.render('mail')).toBe('template:mail string');
  });

  test('case 32: a defaulted parameter that the caller leaves out → an error, because no value was given', async () => {
    const orders = (await fixture.module({ providers: [Orders] })).get(Orders);
    const error = await rejection(orders.defaulted());
    expect(error).toBeInstanceOf(LockArgumentError);
    expect((error as Error).message).toMatch(/Orders\.defaulted.*<id>.*undefined/);
  });

  const ADVICE = /use their position, as <0> or <0\.id>, or a function of the arguments as the key/;

  test.each<[string, string, (key: string) => unknown]>([
    [
      'a destructured name',
      'order:<id>',
      (key) => {
        class Destructured {
          @Locked(key)
          async buy({ id }: Order): Promise<number> {
            return id;
          }
        }
        return Destructured;
      },
    ],
    [
      'the name that the minifier took',
      'order:<userId>',
      (key) => {
        class Minified {
          @Locked(key)
          async buy(a: number, b: string): Promise<string> {
            return a + b;
          }
        }
        return Minified;
      },
    ],
    [
      'a name that a decorator below hides',
      'order:<id>',
      (key) => {
        class Hidden {
          @Locked(key)
          @Traced
          async buy(id: number): Promise<number> {
            return id;
          }
        }
        return Hidden;
      },
    ],
    [
      'a name of a native function',
      'order:<id>',
      (key) => {
        class Native {
          buy!: (id: number) => Promise<number>;
        }
        const descriptor = { value: Native.prototype.constructor.bind(null) as never, configurable: true };
        Locked(key)(Native.prototype, 'buy', descriptor as never);
        return Native;
      },
    ],
  ])('case 32: %s → the class cannot be defined, with the advice', (_what, key, define) => {
    const error = thrownBy(() => define(key));
    expect(error).toBeInstanceOf(LockArgumentError);
    expect((error as Error).message).toMatch(/@Locked on \w+\.buy/);
    expect((error as Error).message).toMatch(ADVICE);
    expect((error as LockArgumentError).code).toBe('LOCK_ARGUMENT');
  });

  test('case 32: a position that does not exist → the class cannot be defined', () => {
    const error = thrownBy(() => {
      class TooFew {
        @Locked('order:<1>')
        async buy(id: number): Promise<number> {
          return id;
        }
      }
      return TooFew;
    });
    expect(error).toBeInstanceOf(LockArgumentError);
    expect((error as Error).message).toMatch(/TooFew\.buy.*<1>.*1 parameter/);
  });

  test('case 32: a key function that throws or gives no key → an error that names the method, with its cause', async () => {
    const cause = new TypeError('no user');
    class Failing {
      @Locked((id: number): string => {
        if (id > 0) throw cause;
        return undefined as never;
      })
      async buy(id: number): Promise<number> {
        return id;
      }
    }
    const service = (await fixture.module({ providers: [Failing] })).get(Failing);
    const thrown = await rejection(service.buy(1));
    expect(thrown).toBeInstanceOf(LockArgumentError);
    expect(thrown).toMatchObject({ cause, message: expect.stringMatching(/Failing\.buy.*no user/) });
    expect(await rejection(service.buy(0))).toMatchObject({
      message: expect.stringMatching(/Failing\.buy.*undefined/),
    });
  });
});
