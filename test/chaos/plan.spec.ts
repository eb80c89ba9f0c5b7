import { describe, expect, test } from '@jest/globals';
import { planOf, type Step } from '../../scripts/chaos/plan.mjs';

const KINDS = ['a', 'b', 'c', 'd', 'e'];

function first(count: number, seed: number): Step[] {
  const plan = planOf(seed, KINDS);
  return Array.from({ length: count }, () => plan.next().value);
}

describe('The plan of a chaos run', () => {
  test('is the same for the same seed, and another one for another', () => {
    expect(first(50, 7)).toEqual(first(50, 7));
    expect(first(50, 7)).not.toEqual(first(50, 8));
    expect(first(50, 0)).not.toEqual(first(50, 2 ** 32 - 1));
  });

  test('has every kind once before any comes again, in another order each time', () => {
    const rounds = Array.from({ length: 20 }, (_, round) =>
      first(100, 42)
        .slice(round * 5, round * 5 + 5)
        .map(({ kind }) => kind),
    );
    for (const round of rounds) expect([...round].sort()).toEqual(KINDS);
    expect(new Set(rounds.map((round) => round.join())).size).toBeGreaterThan(10);
  });

  test('has numbers from 0 to 1, and pauses that leave several faults in five seconds', () => {
    const steps = first(2_000, 42);
    for (const { pick, share, pauseMs } of steps) {
      expect(pick >= 0 && pick < 1 && share >= 0 && share < 1).toBe(true);
      expect(pauseMs >= 200 && pauseMs <= 900 && Number.isInteger(pauseMs)).toBe(true);
    }
    const mean = steps.reduce((sum, { pick }) => sum + pick, 0) / steps.length;
    expect(Math.abs(mean - 0.5)).toBeLessThan(0.05);
  });
});
