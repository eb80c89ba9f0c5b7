import { describe, expect, test } from '@jest/globals';
import { backoffDelay } from './backoff.js';

describe('backoffDelay', () => {
  const range = { initialMs: 50, maxMs: 1_000 };

  test('doubles up to the longest pause', () => {
    const longest = [0, 1, 2, 3, 4, 5, 6].map((attempt) => backoffDelay(attempt, range, () => 1));
    expect(longest).toEqual([50, 100, 200, 400, 800, 1_000, 1_000]);
  });

  test('half of a pause is fixed, so that nobody spins, and half is random, so that waiters spread out', () => {
    expect(backoffDelay(2, range, () => 0)).toBe(100);
    expect(backoffDelay(2, range, () => 0.5)).toBe(150);
    const pauses = Array.from({ length: 100 }, () => backoffDelay(2, range));
    expect(Math.min(...pauses)).toBeGreaterThanOrEqual(100);
    expect(Math.max(...pauses)).toBeLessThanOrEqual(200);
    expect(new Set(pauses).size).toBeGreaterThan(50);
  });

  test('a thousand attempts do not make it NaN or Infinity', () => {
    expect(backoffDelay(5_000, range, () => 1)).toBe(1_000);
  });
});
