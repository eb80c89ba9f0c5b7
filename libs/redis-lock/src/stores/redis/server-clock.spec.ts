import { describe, expect, test } from '@jest/globals';
import { ServerClock } from './server-clock.js';

describe('ServerClock', () => {
  test('before it has learnt anything, this machine’s clock has to do', () => {
    const at = new ServerClock().in(1_000) / 1_000;
    expect(Math.abs(at - (Date.now() + 1_000))).toBeLessThan(1_000);
  });

  test('maps a moment to the server’s time, however wrong that is, and errs late by at most the round trip', () => {
    const clock = new ServerClock();
    const serverUs = 1_000_000_000;
    clock.learn(serverUs, performance.now() - 50);
    const at = clock.in(200);
    expect(at).toBeGreaterThanOrEqual(serverUs + 250_000);
    expect(at).toBeLessThan(serverUs + 2_000_000);
    expect(Number.isInteger(at)).toBe(true);
  });
});
