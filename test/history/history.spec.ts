import { describe, expect, test } from '@jest/globals';
import { checkHistory, type HoldRecord, type Violation } from '../../scripts/lib/history/history.mjs';

/** A hold of `who`; the tokens of these histories are small. */
function hold(who: string, token: number, from: number, until: number, more: Partial<HoldRecord> = {}): HoldRecord {
  return { key: 'order', who, token, from, until, ...more };
}

const kinds = (violations: readonly Violation[]): string[] => violations.map(({ kind }) => kind);

describe('checkHistory', () => {
  test('finds nothing in holds that follow one another', () => {
    expect(checkHistory([])).toEqual([]);
    expect(checkHistory([hold('a', 1, 0, 10), hold('b', 2, 10, 20), hold('a', 30, 25, 30)])).toEqual([]);
  });

  test('the order in which holds were written down does not matter', () => {
    expect(checkHistory([hold('b', 2, 10, 20), hold('a', 1, 0, 10)])).toEqual([]);
  });

  test('two keys may be held at once, and each has tokens of its own', () => {
    const other = hold('b', 1, 5, 8, { key: 'another' });
    expect(checkHistory([hold('a', 7, 0, 10), other])).toEqual([]);
  });

  test('who had lost the lock before it began holds nothing', () => {
    expect(checkHistory([hold('a', 2, 0, 10), hold('b', 1, 5, 5)])).toEqual([]);
  });

  test('finds two valid holds at a time', () => {
    expect(checkHistory([hold('a', 1, 0, 10), hold('b', 2, 9.5, 20)])).toEqual([
      {
        kind: 'overlap',
        what:
          '"order" held by a under 1 (0.000 to 10.000) and "order" held by b under 2 (9.500 to 20.000) overlap by ' +
          '0.500 ms',
      },
    ]);
  });

  test('finds a hold inside of a long one, behind another one that is inside', () => {
    const violations = checkHistory([hold('a', 1, 0, 100), hold('b', 2, 10, 20), hold('c', 3, 30, 40)]);
    expect(kinds(violations)).toEqual(['overlap', 'overlap']);
  });

  test('finds a token that is smaller than an earlier one', () => {
    const violations = checkHistory([hold('a', 5, 0, 10), hold('b', 6, 10, 20), hold('c', 4, 20, 30)]);
    expect(kinds(violations)).toEqual(['order']);
    expect(violations[0]?.what).toContain('held by c under 4 (20.000 to 30.000) began after "order" held by b under 6');
  });

  test('finds a token that was given twice', () => {
    expect(kinds(checkHistory([hold('a', 5, 0, 10), hold('b', 5, 10, 20)]))).toEqual(['order']);
  });
});

describe('checkHistory of shares', () => {
  const READERS = 1_000;
  const reader = (who: string, token: number, from: number, until: number): HoldRecord =>
    hold(who, token, from, until, { permits: 1, limit: READERS });
  const writer = (who: string, token: number, from: number, until: number): HoldRecord =>
    hold(who, token, from, until, { permits: READERS, limit: READERS });
  const permits = (who: string, token: number, from: number, count: number): HoldRecord =>
    hold(who, token, from, from + 10, { permits: count, limit: 3 });

  test('finds nothing in readers together, in any order of their tokens, and a writer alone', () => {
    const readers = [reader('a', 2, 0, 10), reader('b', 1, 1, 9), reader('c', 3, 9, 20)];
    expect(checkHistory([...readers, writer('d', 4, 20, 30), reader('e', 5, 30, 31)])).toEqual([]);
  });

  test('finds a writer beside anybody', () => {
    expect(kinds(checkHistory([reader('a', 1, 0, 10), writer('b', 2, 9, 20)]))).toEqual(['overlap']);
    expect(kinds(checkHistory([writer('a', 1, 0, 10), reader('b', 2, 9, 20)]))).toEqual(['overlap']);
    expect(kinds(checkHistory([writer('a', 1, 0, 10), writer('b', 2, 9, 20)]))).toEqual(['overlap']);
    const between = [reader('a', 1, 0, 50), reader('b', 2, 0, 10), writer('c', 3, 20, 30)];
    expect(kinds(checkHistory(between))).toEqual(['overlap']);
  });

  test('finds a writer with a smaller token than a reader before it, and the other way round', () => {
    expect(kinds(checkHistory([reader('a', 2, 0, 10), writer('b', 1, 10, 20)]))).toEqual(['order']);
    expect(kinds(checkHistory([writer('a', 2, 0, 10), reader('b', 1, 10, 20)]))).toEqual(['order']);
  });

  test('finds more permits than there are', () => {
    expect(checkHistory([permits('a', 1, 0, 2), permits('b', 2, 5, 1)])).toEqual([]);
    expect(kinds(checkHistory([permits('a', 1, 0, 2), permits('b', 2, 5, 2)]))).toEqual(['overlap']);
    expect(kinds(checkHistory([1, 2, 3, 4].map((token) => permits('a', token, token, 1))))).toEqual(['overlap']);
  });
});

describe('checkHistory with a counter', () => {
  const first = hold('a', 1, 0, 10, { read: 0, write: 'accepted' });

  test('finds nothing where every accepted write counted', () => {
    const second = hold('b', 2, 10, 20, { read: 1, write: 'accepted' });
    const late = hold('c', 3, 20, 20, { read: 2, write: 'rejected' });
    expect(checkHistory([first, second, late], { order: 2 })).toEqual([]);
  });

  test('finds two accepted writes that began from one value', () => {
    const second = hold('b', 2, 10, 20, { read: 0, write: 'accepted' });
    const third = hold('c', 3, 20, 30, { read: 1, write: 'accepted' });
    expect(checkHistory([first, second, third], { order: 3 })).toEqual([
      {
        kind: 'lost update',
        what: '"order" held by a under 1 (0.000 to 10.000) and "order" held by b under 2 (10.000 to 20.000) both made 1 of 0',
      },
    ]);
  });

  test('finds a value that is not the number of accepted writes', () => {
    const what = 'the counter of "order" is 2 after 1 accepted writes';
    expect(checkHistory([first], { order: 2 })).toEqual([{ kind: 'lost update', what }]);
    expect(kinds(checkHistory([first], { order: 0 }))).toEqual(['lost update']);
    expect(kinds(checkHistory([], { order: 1 }))).toEqual(['lost update']);
  });

  test('the last write of a process that was killed may count or not', () => {
    const killed = hold('b', 2, 10, 20, { read: 1, write: 'unknown' });
    expect(checkHistory([first, killed], { order: 1 })).toEqual([]);
    expect(checkHistory([first, killed], { order: 2 })).toEqual([]);
    expect(kinds(checkHistory([first, killed], { order: 3 }))).toEqual(['lost update']);
  });
});
