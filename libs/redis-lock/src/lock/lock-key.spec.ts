import { describe, expect, test } from '@jest/globals';
import { KeyTemplate } from './key-template.js';
import { LockKey, lockKey } from './lock-key.js';
import { LockArgumentError } from './lock.errors.js';

describe('LockKey', () => {
  test('a plain string is its own key and its own template', () => {
    expect(LockKey.of('order:1')).toMatchObject({ text: 'order:1', template: 'order:1' });
    expect(String(LockKey.of('order:1'))).toBe('order:1');
  });

  test('1,024 bytes are the most, counted in UTF-8', () => {
    expect(LockKey.of('x'.repeat(1024)).text).toHaveLength(1024);
    expect(() => LockKey.of('x'.repeat(1025))).toThrow('1025 bytes');
    expect(() => LockKey.of('订'.repeat(342))).toThrow('1026 bytes');
  });

  test.each(['', '\ud800', 'order:\udfff', 42, null, undefined, {}, Symbol('order')])('%p is refused', (key) => {
    expect(() => LockKey.of(key as string)).toThrow(LockArgumentError);
  });
});

describe('lockKey', () => {
  test('has a template without values, for metrics', () => {
    expect(lockKey`order:${7}:${'a'}`).toMatchObject({ text: 'order:7:a', template: 'order:<>:<>' });
    expect(lockKey`nightly`).toMatchObject({ text: 'nightly', template: 'nightly' });
  });

  test('takes strings, finite numbers, bigints and booleans', () => {
    expect(lockKey`${'a'}|${1.5}|${10n ** 20n}|${false}`.text).toBe('a|1.5|100000000000000000000|false');
  });

  test.each([NaN, Infinity, null, undefined, {}, [], new Date(), () => 1, Symbol('x')])(
    'refuses the value %p',
    (value) => {
      expect(() => lockKey`order:${value as string}`).toThrow(LockArgumentError);
      expect(() => lockKey`order:${value as string}`).toThrow(/order:<>.*such as its id/s);
    },
  );

  test('two values need a separator between them', () => {
    const [a, b] = ['1', '23'];
    expect(() => lockKey`order:${a}${b}`).toThrow('need a separator');
    expect(() => lockKey`order:${a}x${b}`).toThrow('need a separator');
    expect(lockKey`order:${a}-${b}`.text).toBe('order:1-23');
  });

  test('different tuples of values never make one key', () => {
    const parts = [
      '',
      'a',
      'b',
      ':',
      'a:',
      ':b',
      'a:b',
      '%',
      '%3A',
      'a%3Ab',
      '{',
      '}',
      '{a}',
      '-',
      'a-',
      '-b',
      'a-b',
      '%2D',
    ];
    const tuples = parts.flatMap((first) => parts.map((second) => [first, second] as const));
    expect(new Set(tuples.map(([first, second]) => lockKey`${first}:${second}`.text)).size).toBe(tuples.length);
    expect(new Set(tuples.map(([first, second]) => lockKey`${first}-${second}`.text)).size).toBe(tuples.length);
  });

  test('is the key of the same template in a decorator', () => {
    const template = KeyTemplate.parse('order:<userId>:<dto.id>', 'test');
    for (const [userId, id] of [
      ['7', '9'],
      ['a:b', '{c}'],
      ['50%', ' '],
    ] as const) {
      const filled = template.fill((root) => ({ userId, dto: { id } })[root]);
      expect(filled).toEqual(lockKey`order:${userId}:${id}`);
    }
  });
});
