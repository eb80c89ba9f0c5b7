import { describe, expect, test } from '@jest/globals';
import { figuresOf, isGood, textOf, type Figure, type Run } from '../../scripts/chaos/report.mjs';
import type { HoldRecord } from '../../scripts/lib/history/critical-section.mjs';

/** Holds of one key that follow one another; each caller has asked before the one before it had left. */
function holds(count: number, more: Partial<HoldRecord> = {}): HoldRecord[] {
  return Array.from({ length: count }, (_, index) => ({
    key: 'order',
    who: `caller ${index}`,
    token: index + 1,
    asked: index * 10 - 5,
    from: index * 10,
    until: index * 10 + 9,
    ...more,
  }));
}

const good: Run = {
  holds: holds(1_001),
  counters: { order: 0 },
  faults: { 'server hangs': 4, 'process killed': 2 },
  ms: 30_000,
  leftovers: [],
  crashes: [],
};

const figure = (run: Run, name: string): Figure | undefined => figuresOf(run).find((each) => each.name === name);

describe('The report of a chaos run', () => {
  test('has its eight figures', () => {
    const figures = figuresOf(good);
    expect(figures.map(({ name, value }) => [name, value])).toEqual([
      ['contended acquisitions', 1_000],
      ['faults injected', '6 (4 × server hangs, 2 × process killed)'],
      ['overlaps of valid holds', 0],
      ['tokens out of order', 0],
      ['lost updates behind the fence', 0],
      ['longest time nobody could lock', '10 ms'],
      ['keys left over', 0],
      ['unhandled rejections', 0],
    ]);
    expect(isGood(figures)).toBe(true);
  });

  test.each<[string, Partial<Run>]>([
    ['contended acquisitions', { holds: holds(1_000) }],
    ['contended acquisitions', { holds: holds(2_000, { asked: Infinity }) }],
    ['faults injected', { faults: {} }],
    ['faults injected', { faults: { 'server hangs': 5 } }],
    ['overlaps of valid holds', { holds: [...holds(1_001), { ...holds(1)[0], until: 12 } as HoldRecord] }],
    ['tokens out of order', { holds: holds(1_001).map((hold, index) => (index === 9 ? { ...hold, token: 1 } : hold)) }],
    ['lost updates behind the fence', { counters: { order: 1 } }],
    ['keys left over', { leftovers: ['chaos:{order}'] }],
    ['unhandled rejections', { crashes: ['Error: nobody caught it'] }],
  ])('%s can be bad', (name, change) => {
    const run = { ...good, ...change };
    expect(figure(run, name)?.good).toBe(false);
    expect(isGood(figuresOf(run))).toBe(false);
    expect(textOf(figuresOf(run))).toContain(`✗ ${name}`);
  });

  test('does not take those for contended who may be inside together', () => {
    const readers = holds(1_001, { until: 20_000, permits: 1, limit: 1_000_000 });
    expect(figure({ ...good, holds: readers }, 'contended acquisitions')?.value).toBe(0);
    const writers = holds(1_001, { permits: 1_000_000, limit: 1_000_000 });
    expect(figure({ ...good, holds: writers }, 'contended acquisitions')?.value).toBe(1_000);
  });

  test('says what is wrong before the figures', () => {
    const text = textOf(figuresOf({ ...good, crashes: ['Error: nobody caught it'] }));
    expect(text).toMatch(/^unhandled rejections: Error: nobody caught it\n/);
  });

  test('tells the longest time in which nobody began to hold a lock', () => {
    const later = holds(1_001).map((hold) => ({ ...hold, from: hold.from + 5_000, until: hold.until + 5_000 }));
    const run = { ...good, holds: [...holds(1), ...later] };
    expect(figure(run, 'longest time nobody could lock')?.value).toBe('5000 ms');
  });
});
