import { describe, expect, test } from '@jest/globals';
import { lockKey } from '../lock/lock-key.js';
import { LockArgumentError, LockBusyError, LockLostError, LockTimeoutError } from '../lock/lock.errors.js';
import { compileMethodKey, isNotObtained, type Method, type MethodKey } from './method-key.js';

const where = '@Locked on OrderService.buy';

interface Order {
  id: number;
  buyer: { id: number; name?: string };
}

class OrderService {
  async buy(userId: number, voucherId: number): Promise<unknown> {
    return [userId, voucherId];
  }

  async ship(order: Order, by = 'post'): Promise<unknown> {
    return [order, by];
  }

  async pack({ id }: Order, [first]: number[]): Promise<unknown> {
    return [id, first];
  }

  async sort(shelf: string, ...ids: number[]): Promise<unknown> {
    return [shelf, ids];
  }

  async nothing(): Promise<void> {}
}

const { buy, ship, pack, sort, nothing } = OrderService.prototype as unknown as Record<keyof OrderService, Method>;

function keyOf(key: MethodKey, method: Method, ...args: unknown[]): string {
  return compileMethodKey(key, method, where)(args).text;
}

function bound(method: Method): Method {
  return Function.prototype.bind.call(method, undefined) as Method;
}

function failure(work: () => unknown): LockArgumentError {
  try {
    work();
  } catch (error) {
    if (error instanceof LockArgumentError) return error;
    throw error;
  }
  throw new Error('Expected a LockArgumentError');
}

describe('a template', () => {
  test('takes arguments by the names of their parameters', () => {
    expect(keyOf('order:<userId>:<voucherId>', buy, 7, 9)).toBe('order:7:9');
    expect(keyOf('order:<voucherId>:<userId>', buy, 7, 9)).toBe('order:9:7');
    expect(keyOf('<userId>', buy, 7)).toBe('7');
  });

  test('takes arguments by position, also beyond a rest parameter', () => {
    expect(keyOf('order:<1>', buy, 7, 9)).toBe('order:9');
    expect(keyOf('shelf:<0>:<1>:<2>', sort, 'a', 7, 9)).toBe('shelf:a:7:9');
  });

  test('goes into properties, by name and by position', () => {
    const order: Order = { id: 3, buyer: { id: 7, name: 'a:b' } };
    expect(keyOf('order:<order.id>', ship, order)).toBe('order:3');
    expect(keyOf('buyer:<order.buyer.id>', ship, order)).toBe('buyer:7');
    expect(keyOf('buyer:<order.buyer.name>', ship, order)).toBe('buyer:a%3Ab');
    expect(keyOf('order:<0.id>', pack, order, [])).toBe('order:3');
    expect(keyOf('first:<1.0>', pack, order, [5])).toBe('first:5');
  });

  test('knows a parameter with a default, and takes what the caller gave', () => {
    expect(keyOf('ship:<by>', ship, {}, 'train')).toBe('ship:train');
    // The default is made inside of the method, which has not begun.
    expect(failure(() => keyOf('ship:<by>', ship, {})).message).toContain('placeholder <by> of "ship:<by>"');
  });

  test('gives a rest parameter as the list that it is', () => {
    expect(keyOf('<ids.length>-<ids.1>', sort, 'a', 7, 9)).toBe('2-9');
    expect(failure(() => keyOf('<ids>', sort, 'a', 7)).message).toContain('must be a string, a finite number');
  });

  test('without placeholders locks for everybody', () => {
    expect(keyOf('all', nothing)).toBe('all');
    expect(keyOf('all', ship, { id: 3 })).toBe('all');
    expect(keyOf('a <<b>', nothing)).toBe('a <b>');
  });

  test('gives the key and the template of lockKey', () => {
    const [userId, voucherId] = ['a:b', '{c}'];
    const key = compileMethodKey('order:<userId>:<voucherId>', buy, where)([userId, voucherId]);
    expect(key).toEqual(lockKey`order:${userId}:${voucherId}`);
    expect(key.template).toBe('order:<>:<>');
  });

  test.each([
    ['<usr>', 'there is no parameter "usr" for "<usr>"; the method has (userId, voucherId)'],
    ['order:<usr.id>', 'there is no parameter "usr"'],
    ['<userid>', 'there is no parameter "userid"'],
    ['<2>', '<2> of "<2>" is a position, but the method has 2 parameters'],
    ['<userId', '"<" without ">"'],
    ['<>', 'is not a placeholder'],
    ['<userId:uuid>', 'asks for an unknown type'],
    ['<userId><voucherId>', 'need a separator'],
    ['', 'must not be empty'],
  ])('that is wrong fails before the first call: %j', (template, says) => {
    const error = failure(() => compileMethodKey(template, buy, where));
    expect(error.message).toContain(says);
    expect(error.statusCode).toBe(500);
  });

  test.each([
    ['destructured', '<id>', pack, '({…}, {…})'],
    ['rest', '<id>', sort, '(shelf, ...ids)'],
    ['none', '<id>', nothing, '()'],
    ['bound', '<userId>', bound(buy), 'its source cannot be read'],
    ['native', '<a>', Math.max as Method, 'its source cannot be read'],
  ])('names the way out where a parameter has no such name: %s', (_, template, method, says) => {
    const { message } = failure(() => compileMethodKey(template, method, where));
    expect(message).toContain(where);
    expect(message).toContain(says);
    expect(message).toContain('<0>');
    expect(message).toContain('a function of the arguments as the key');
  });

  test('may use a position where the source cannot be read', () => {
    expect(keyOf('order:<0.id>', bound(ship), { id: 3 })).toBe('order:3');
    expect(keyOf('order:<5>', Math.max as Method, 0, 1, 2, 3, 4, 5)).toBe('order:5');
  });

  test.each([
    ['<order>', { id: 3 }, '{ id: 3 }'],
    ['<order.idd>', { id: 3 }, 'is undefined'],
    ['<order.buyer.id>', { id: 3 }, 'is undefined'],
    ['<order.buyer.id>', { buyer: null }, 'is undefined'],
    ['<order.id>', undefined, 'is undefined'],
    ['<order.id>', { id: null }, 'is null'],
    ['<order.id>', { id: NaN }, 'is NaN'],
    ['<order.id>', { id: Infinity }, 'is Infinity'],
    ['<order.id>', { id: Symbol('s') }, 'is Symbol(s)'],
    ['<order.id>', { id: new Date(0) }, '1970'],
    ['<order.id:int>', { id: '09' }, '"09", which is not a canonical integer'],
    ['<order.id:int>', { id: '-0' }, '"-0", which is not a canonical integer'],
    ['<order.id:int>', { id: 1.5 }, '"1.5", which is not a canonical integer'],
    ['<order.id:int>', { id: 2 ** 53 }, 'not a canonical integer'],
    ['<order.id:int>', { id: true }, '"true", which is not a canonical integer'],
  ])('refuses what identifies nothing: %s of %p', (template, order, says) => {
    const { message, fromRequest, statusCode } = failure(() => keyOf(template, ship, order));
    expect(message).toContain(where);
    expect(message).toContain(`placeholder ${template}`);
    expect(message).toContain(says);
    expect({ fromRequest, statusCode }).toEqual({ fromRequest: undefined, statusCode: 500 });
  });

  test.each([9, '9', 9n, -9, '-9', 0, '0', Number.MAX_SAFE_INTEGER, '9007199254740993'])(
    'takes a canonical integer as :int: %p',
    (id) => expect(keyOf('<0.id:int>', ship, { id })).toBe(String(id)),
  );
});

describe('a key function', () => {
  test('is called with the arguments of the call, and may give a string or a lockKey', () => {
    expect(keyOf((userId: number, voucherId: number) => `${voucherId}/${userId}`, buy, 7, 9)).toBe('9/7');
    expect(keyOf(({ id }: Order) => lockKey`order:${id}`, ship, { id: 3 })).toBe('order:3');
    expect(keyOf((...args: unknown[]) => `all:${args.length}`, nothing, 1, 2, 3)).toBe('all:3');
  });

  test('is not called before the method is', () => {
    expect(() =>
      compileMethodKey(
        () => {
          throw new Error('called');
        },
        buy,
        where,
      ),
    ).not.toThrow();
  });

  test('that throws gives an error that names the method, with the cause', () => {
    const cause = new TypeError('order is undefined');
    const error = failure(() =>
      keyOf(
        () => {
          throw cause;
        },
        buy,
        7,
      ),
    );
    expect(error.message).toBe(`${where}: the key function failed: order is undefined`);
    expect(error.cause).toBe(cause);
  });

  test.each([
    ['undefined', undefined],
    ['a number', 7],
    ['an object', { id: 7 }],
    ['a promise', Promise.resolve('order')],
    ['an empty string', ''],
    ['half of a surrogate pair', '\uD83D'],
    ['too long a string', 'x'.repeat(1025)],
  ])('that gives no key is refused: %s', (_, given) => {
    const { message } = failure(() => keyOf((() => given) as unknown as MethodKey, buy, 7));
    expect(message).toContain(`${where}: the key function failed: `);
  });
});

test('a key that is neither is refused when the class is defined', () => {
  for (const key of [undefined, null, 7, {}, ['order']]) {
    expect(failure(() => compileMethodKey(key as MethodKey, buy, where)).message).toContain(where);
  }
});

test('isNotObtained: busy and timed out, nothing else', () => {
  expect(isNotObtained(new LockBusyError('k', 'held', undefined))).toBe(true);
  expect(isNotObtained(new LockTimeoutError('k', 1, undefined, 1))).toBe(true);
  expect(isNotObtained(new LockLostError('k', 'taken', 1))).toBe(false);
  expect(isNotObtained(new LockArgumentError('no', 'k'))).toBe(false);
  expect(isNotObtained(new Error('no'))).toBe(false);
  expect(isNotObtained(undefined)).toBe(false);
});
