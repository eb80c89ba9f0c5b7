import { describe, expect, test } from '@jest/globals';
import { Chain } from './chain.js';

describe('Chain', () => {
  const of = (...names: string[]): { chain: Chain<string[]>; take: (name: string) => boolean; rest: () => string } => {
    const chain = new Chain<string[]>();
    const links = new Map(names.map((name) => [name, chain.add([name])]));
    const take = (name: string): boolean => links.get(name)?.remove() ?? false;
    return { chain, take, rest: () => [...chain].flat().join('') };
  };

  test('keeps the order of arrival, whichever is taken out', () => {
    for (const [name, rest] of Object.entries({ a: 'bcd', b: 'acd', c: 'abd', d: 'abc' })) {
      const scene = of('a', 'b', 'c', 'd');
      expect(scene.take(name)).toBe(true);
      scene.chain.add(['e']);
      expect([scene.rest(), scene.chain.size, scene.chain.first]).toEqual([`${rest}e`, 4, [rest[0]]]);
    }
  });

  test('an element is taken out once', () => {
    const { take, rest, chain } = of('a', 'b');
    expect([take('a'), take('a'), rest(), chain.size]).toEqual([true, false, 'b', 1]);
    expect([take('b'), take('b'), rest(), chain.size, chain.first]).toEqual([true, false, '', 0, undefined]);
    chain.add(['c']);
    expect([rest(), chain.first]).toEqual(['c', ['c']]);
  });

  test('what is taken out while they are gone through is not met, what is added neither', () => {
    const { chain, take } = of('a', 'b', 'c', 'd');
    const met: string[] = [];
    for (const [name = ''] of chain) {
      met.push(name);
      take(name);
      if (name === 'a') take('b');
      if (name === 'c') chain.add(['e']);
    }
    expect(met.join('')).toBe('acd');
    expect([...chain]).toEqual([['e']]);
  });
});
