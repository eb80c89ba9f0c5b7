import { describe, expect, test } from '@jest/globals';
import { Registry } from './registry.js';

describe('Registry', () => {
  test('knows what was set last under a name, until it is deleted', () => {
    const registry = new Registry<{ of: string }>();
    registry.set('a', { of: 'first' });
    registry.set('a', { of: 'second' });
    registry.set('b', { of: 'other' });
    expect([registry.get('a'), registry.get('c'), [...registry.values()].map((value) => value.of)]).toEqual([
      { of: 'second' },
      undefined,
      ['second', 'other'],
    ]);
    registry.delete('a');
    registry.delete('c');
    expect([registry.get('a'), [...registry.values()]]).toEqual([undefined, [{ of: 'other' }]]);
  });
});
