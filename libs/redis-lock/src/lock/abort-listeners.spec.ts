import { describe, expect, test } from '@jest/globals';
import { getEventListeners } from 'node:events';
import { onAbort } from './abort-listeners.js';

describe('onAbort', () => {
  test('however many callers share a signal, it carries one listener, and none when they have left', () => {
    const { signal } = new AbortController();
    const forget = Array.from({ length: 100 }, () => onAbort(signal, () => {}));
    expect(getEventListeners(signal, 'abort')).toHaveLength(1);
    for (const each of forget) each();
    expect(getEventListeners(signal, 'abort')).toHaveLength(0);
  });

  test('calls back everybody who is still there, once', () => {
    const controller = new AbortController();
    const called: string[] = [];
    onAbort(controller.signal, () => called.push('a'));
    const forget = onAbort(controller.signal, () => called.push('b'));
    onAbort(controller.signal, () => called.push('c'));
    forget();
    forget();
    controller.abort();
    controller.abort();
    expect(called).toEqual(['a', 'c']);
  });

  test('works again on a signal whose callers have all left', () => {
    const controller = new AbortController();
    onAbort(controller.signal, () => {})();
    let called = 0;
    onAbort(controller.signal, () => called++);
    controller.abort();
    expect(called).toBe(1);
  });
});
