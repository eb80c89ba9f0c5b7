import { describe, expect, test } from '@jest/globals';
import { readOptions, UsageError } from '../../scripts/chaos/options.mjs';

describe('The options of a chaos run', () => {
  test('are read', () => {
    const args = ['--topology', 'cluster', '--minutes', '0.5', '--seed', '42', '--json'];
    expect(readOptions(args)).toEqual({ ms: 30_000, topology: 'cluster', seed: 42, json: true });
  });

  test('have a minute and any seed by default', () => {
    const { ms, seed, json } = readOptions(['--topology', 'single']);
    expect([ms, json]).toEqual([60_000, false]);
    expect(Number.isInteger(seed) && seed >= 0 && seed < 2 ** 32).toBe(true);
  });

  test.each([
    [[], '--topology is missing, but must be single, sentinel, cluster, redlock'],
    [['--topology', 'ring'], '--topology is "ring"'],
    [['--topology', 'single', '--minutes', 'one'], '--minutes is "one"'],
    [['--topology', 'single', '--minutes', '0'], '--minutes is "0"'],
    [['--topology', 'single', '--minutes', '1e9'], '--minutes is "1e9"'],
    [['--topology', 'single', '--seed', '1.5'], '--seed is "1.5"'],
    [['--topology', 'single', '--seed', ''], '--seed is ""'],
    [['--topology', 'single', '--seed=-1'], '--seed is "-1"'],
    [['--topology', 'single', '--hours', '1'], '--hours'],
    [['single'], 'single'],
  ])('%j is refused', (args, message) => {
    const read = (): unknown => readOptions(args);
    expect(read).toThrow(UsageError);
    expect(read).toThrow(message);
  });
});
