import { describe, expect, test } from '@jest/globals';
import { deferred, waitFor } from './wait-for.js';

describe('waitFor', () => {
  test('returns the first answer that is one', async () => {
    const answers = [undefined, null, false, 0];
    expect(await waitFor(() => Promise.resolve(answers.shift()))).toBe(0);
    expect(answers).toEqual([]);
  });

  test('rejects with what it waited for', async () => {
    await expect(waitFor(() => false, { timeoutMs: 20, what: 'the end of time' })).rejects.toThrow(
      'Still not so after 20 ms: the end of time',
    );
  });
});

describe('deferred', () => {
  test('is settled from outside', async () => {
    const kept = deferred<number>();
    kept.resolve(1);
    expect(await kept.promise).toBe(1);

    const broken = deferred();
    broken.reject(new Error('no'));
    await expect(broken.promise).rejects.toThrow('no');
  });
});
