import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { Deadlines } from './deadlines.js';

describe('Deadlines', () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  const record = (): { calls: string[]; call: (name: string) => () => void } => {
    const calls: string[] = [];
    return { calls, call: (name) => () => calls.push(name) };
  };

  test('each is called at its own time, in the order of time', () => {
    const deadlines = new Deadlines();
    const { calls, call } = record();
    deadlines.in(100, call('a'));
    jest.advanceTimersByTime(60);
    deadlines.in(100, call('b'));
    deadlines.in(20, call('c'));
    jest.advanceTimersByTime(30);
    expect(calls).toEqual(['c']);
    jest.advanceTimersByTime(20);
    expect(calls).toEqual(['c', 'a']);
    jest.advanceTimersByTime(60);
    expect(calls).toEqual(['c', 'a', 'b']);
  });

  test('one that is cancelled is never called, also by another one', () => {
    const deadlines = new Deadlines();
    const { calls, call } = record();
    const gone = deadlines.in(50, call('gone'));
    deadlines.in(50, () => later.cancel());
    const later = deadlines.in(50, call('later'));
    deadlines.in(50, call('last'));
    gone.cancel();
    jest.advanceTimersByTime(200);
    expect(calls).toEqual(['last']);
  });

  test('those of one length have one timer, which ends by itself', () => {
    const deadlines = new Deadlines();
    for (let n = 0; n < 1_000; n++) deadlines.in(50, () => undefined).cancel();
    expect(jest.getTimerCount()).toBe(1);
    jest.advanceTimersByTime(100);
    expect(jest.getTimerCount()).toBe(0);
  });

  test('a new one after the timer has ended is called as well', () => {
    const deadlines = new Deadlines();
    const { calls, call } = record();
    deadlines.in(50, call('a')).cancel();
    jest.advanceTimersByTime(100);
    deadlines.in(50, call('b'));
    jest.advanceTimersByTime(60);
    expect(calls).toEqual(['b']);
  });

  test('after clear nothing is called, and no timer is left', () => {
    const deadlines = new Deadlines();
    const { calls, call } = record();
    deadlines.in(50, call('a'));
    deadlines.clear();
    expect(jest.getTimerCount()).toBe(0);
    jest.advanceTimersByTime(100);
    expect(calls).toEqual([]);
  });
});
