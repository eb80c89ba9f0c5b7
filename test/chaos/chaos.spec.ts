import { describe, expect, test } from '@jest/globals';
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { TOPOLOGIES } from '../../scripts/chaos/options.mjs';
import { figuresOf, isGood } from '../../scripts/chaos/report.mjs';
import { run } from '../../scripts/chaos/run.mjs';
import { Cleanup } from '../../scripts/lib/cleanup.mjs';
import { PatchedCopy } from '../history/patched-copy.js';
import { describeWithRedisServer } from '../support/redis.js';

const SCRIPT = fileURLToPath(new URL('../../scripts/chaos.mjs', import.meta.url));

/** Runs the program as `npm run chaos` does. */
async function chaos(...args: string[]): Promise<{ code: number; out: string; err: string }> {
  return new Promise((resolve) => {
    execFile(process.execPath, [SCRIPT, ...args], { env: { ...process.env, NODE_OPTIONS: '' } }, (error, out, err) => {
      const code = error ? Number(error.code) : 0;
      resolve({ code, out, err });
    });
  });
}

describe('npm run chaos', () => {
  test('ends with 2 and says what is wrong when it cannot run', async () => {
    const { code, err } = await chaos('--topology', 'ring');
    expect(code).toBe(2);
    expect(err).toContain('--topology is "ring"');
    expect(err).toContain('npm run chaos -- --topology single|sentinel|cluster|redlock');
  });
});

describeWithRedisServer('Thirty seconds of chaos', () => {
  test.each(TOPOLOGIES)(
    '%s: nothing overlaps, is lost or left',
    async (topology) => {
      const { code, out, err } = await chaos('--topology', topology, '--minutes', '0.5');
      if (code !== 0) throw new Error(`It ended with ${code}.\n${out}\n${err}`);
      expect(out).toMatch(/unhandled rejections +0\n$/);
    },
    400_000,
  );

  test('find a library that lets others into a lock that is held', async () => {
    const copy = await PatchedCopy.make([
      { file: 'stores/redis/scripts/acquire.js', find: 'if owner == member then', put: 'if owner then' },
    ]);
    const cleanup = new Cleanup();
    try {
      const options = { topology: 'single', ms: 5_000, seed: 1 } as const;
      const figures = figuresOf(await run(options, cleanup, { library: copy.path }));
      expect(isGood(figures)).toBe(false);
      const overlaps = figures.find(({ name }) => name === 'overlaps of valid holds');
      expect(overlaps?.value).toBeGreaterThan(0);
    } finally {
      await cleanup.run();
      await copy.remove();
    }
  }, 120_000);
});
