import { describe, expect, test } from '@jest/globals';
import { brokenClaims, type Results } from '../scripts/demo/claims.mjs';
import { Cleanup } from '../scripts/lib/cleanup.mjs';
import { countTicks } from '../scripts/demo/cron.mjs';

const firing = (at: number, ran: boolean) => ({ at, ran });
const node = (...firings: { at: number; ran: boolean }[]) => ({ indexHits: 0, firings });

describe('countTicks', () => {
  test('counts the seconds in which two nodes fired, and the runs in them by node', () => {
    const first = node(firing(10_004, true), firing(11_002, false), firing(12_001, true));
    const second = node(firing(10_050, false), firing(11_001, true));
    expect(countTicks([first, second], 10, 12)).toEqual({
      result: { ticks: 2, runs: 2, byNode: [1, 1] },
      wrongTicks: 0,
    });
  });

  test('a second with two runs does not make up for one without any', () => {
    const first = node(firing(10_004, true), firing(11_002, false));
    const second = node(firing(10_900, true), firing(10_005, false), firing(11_001, false));
    expect(countTicks([first, second], 10, 11)).toMatchObject({ result: { ticks: 2, runs: 2 }, wrongTicks: 2 });
  });

  test('a timer that fires 1 ms early belongs to the second that it was meant for', () => {
    expect(countTicks([node(firing(9_999, true)), node(firing(10_001, false))], 10, 10)).toMatchObject({
      result: { ticks: 1, runs: 1 },
    });
  });
});

describe('brokenClaims', () => {
  const sold = {
    requests: 900,
    answers: { 201: 100, 400: 800 },
    orders: 100,
    duplicates: 0,
    oversold: 0,
    stockLeft: 0,
  };
  const sale = { ...sold, indexHits: 0, ms: 1_000 };
  const good: Results = {
    unprotected: { 'in-process': { ...sale, duplicates: 9 }, simple: sale, locked: sale },
    protected: { 'in-process': { ...sale, indexHits: 9 }, simple: sale, locked: sale },
    cron: { ticks: 22, runs: 22, byNode: [8, 7, 7] },
    takeover: { ms: 3_010, ttl: 3_000 },
  };

  test('none, when all is as it should be', () => {
    expect(brokenClaims(good, 0)).toEqual([]);
  });

  test.each<[string, Partial<Results>, RegExp]>([
    [
      'no duplicates without a shared lock',
      { unprotected: { ...good.unprotected, 'in-process': sale } },
      /lets duplicates through/,
    ],
    [
      'a duplicate under the lock',
      { unprotected: { ...good.unprotected, locked: { ...sale, duplicates: 1 } } },
      /renewed lock lets no/,
    ],
    [
      'too few orders',
      { protected: { ...good.protected, simple: { ...sale, orders: 99 } } },
      /simple sells exactly 100/,
    ],
    [
      'the index had to step in',
      { protected: { ...good.protected, locked: { ...sale, indexHits: 1 } } },
      /never has to step in/,
    ],
    [
      'an answer that is none of the three',
      { protected: { ...good.protected, locked: { ...sale, answers: { 500: 1 } } } },
      /answers/,
    ],
    ['a run too many', { cron: { ticks: 22, runs: 23, byNode: [8, 8, 7] } }, /runs = ticks/],
    ['too few ticks', { cron: { ticks: 19, runs: 19, byNode: [8, 8, 3] } }, /at least 20 ticks/],
    ['a takeover before the lease was over', { takeover: { ms: 1_400, ttl: 3_000 } }, /not before/],
    ['a takeover that took too long', { takeover: { ms: 4_001, ttl: 3_000 } }, /at most 1 s later/],
  ])('%s: is named', (_, change, claim) => {
    expect(brokenClaims({ ...good, ...change }, 0)).toEqual([expect.stringMatching(claim)]);
  });
});

describe('Cleanup', () => {
  test('does the newest task first, each once, and takes no new ones', async () => {
    const done: number[] = [];
    const cleanup = new Cleanup();
    cleanup.add(() => done.push(1));
    cleanup.add(() => Promise.resolve().then(() => done.push(2)));
    await Promise.all([cleanup.run(), cleanup.run()]);
    expect(done).toEqual([2, 1]);
    expect(() => cleanup.add(() => {})).toThrow('being stopped');
  });
});
