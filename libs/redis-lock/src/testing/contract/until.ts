import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';

/** Asks until something is so. */
export async function until(what: string, reached: () => boolean | Promise<boolean>, limitMs = 2_000): Promise<void> {
  for (const end = performance.now() + limitMs; !(await reached());) {
    assert.ok(performance.now() < end, `it took too long until ${what}`);
    await pause(5);
  }
}
