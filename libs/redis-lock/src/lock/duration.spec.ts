import { describe, expect, test } from '@jest/globals';
import { MAX_DURATION_MS, parseDuration } from './duration.js';
import { LockArgumentError } from './lock.errors.js';

describe('parseDuration', () => {
  const parse = (value: unknown, min = 0, infinite = false): number =>
    parseDuration(value, 'ttl', 'order', { min, infinite });

  test.each([
    [0, 0],
    [1_500, 1_500],
    [0.2, 1],
    [1_000.4, 1_001],
    ['500ms', 500],
    ['10s', 10_000],
    ['1.5s', 1_500],
    ['2 minutes', 120_000],
    ['100', 100],
    [MAX_DURATION_MS, MAX_DURATION_MS],
    ['24d', 2_073_600_000],
  ])('%p is %p ms', (value, ms) => {
    expect(parse(value)).toBe(ms);
  });

  test.each([
    -1,
    NaN,
    Infinity,
    -Infinity,
    MAX_DURATION_MS + 1,
    '25d',
    '',
    ' ',
    'soon',
    's',
    'x'.repeat(200),
    null,
    true,
  ])('%p is refused', (value) => {
    expect(() => parse(value)).toThrow(LockArgumentError);
    expect(() => parse(value)).toThrow(/Lock "order": option "ttl"/);
  });

  test('the smallest value is kept to', () => {
    expect(parse(1, 1)).toBe(1);
    expect(() => parse(0, 1)).toThrow('from 1 ms');
    expect(() => parse('0s', 1)).toThrow(LockArgumentError);
  });

  test('Infinity only where it may be asked for, and only as a number', () => {
    expect(parse(Infinity, 0, true)).toBe(Infinity);
    expect(() => parse('Infinity', 0, true)).toThrow('or Infinity');
    expect(() => parse(-Infinity, 0, true)).toThrow(LockArgumentError);
  });
});
