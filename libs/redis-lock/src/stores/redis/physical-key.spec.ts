import { describe, expect, test } from '@jest/globals';
import { fenceKey, keyOf, physicalKey } from './physical-key.js';

/** What Redis Cluster hashes: between the first `{` and the first `}` after it, unless that is empty; else everything. */
function hashed(key: string): string {
  const open = key.indexOf('{');
  const close = key.indexOf('}', open + 1);
  return open >= 0 && close > open + 1 ? key.slice(open + 1, close) : key;
}

const alphabet = ['{', '}', 'a', '\\', '(', ')', ':'];
/** Every string of up to four of these characters. */
const keys = alphabet.flatMap((a) => [
  a,
  ...alphabet.flatMap((b) => [a + b, ...alphabet.flatMap((c) => [a + b + c, ...alphabet.map((d) => a + b + c + d)])]),
]);

describe('physicalKey', () => {
  test('a plain key stands in braces', () => {
    expect(physicalKey('lock', 'order:1')).toBe('lock:{order:1}');
  });

  test('no two keys share a name, nor a name of what belongs to another key', () => {
    expect(new Set(keys).size).toBe(keys.length);
    const names = keys.flatMap((key) => ['', ':queue', ':waiters'].map((part) => physicalKey('lock', key) + part));
    names.push(fenceKey('lock'));
    expect(new Set(names).size).toBe(names.length);
  });

  test('the key can be read from the name', () => {
    expect(keys.map((key) => keyOf('my:lock', physicalKey('my:lock', key)))).toEqual(keys);
    for (const key of ['', '{tag}x', 'x{tag}', '{tag}', '{a}{b}', 'a{}b', '订单:\n{']) {
      expect(keyOf('lock', physicalKey('lock', key))).toBe(key);
    }
  });

  test('no two prefixes share a name', () => {
    const prefixes = ['lock', 'lock:a', 'lock:', 'a', 'lock:fence'];
    const names = prefixes.flatMap((prefix) => [fenceKey(prefix), ...keys.map((key) => physicalKey(prefix, key))]);
    expect(new Set(names).size).toBe(names.length);
  });

  test('all names of one key share a slot, whatever the key is', () => {
    for (const key of keys) {
      const name = physicalKey('lock', key);
      expect({ key, hashed: hashed(`${name}:queue`) }).toEqual({ key, hashed: hashed(name) });
      expect(hashed(name)).not.toBe(name);
    }
  });

  test('a non-empty tag of the key stays its tag', () => {
    expect(hashed(physicalKey('lock', '{user1}:order'))).toBe('user1');
    expect(hashed(physicalKey('lock', 'order:{user1}'))).toBe('user1');
    expect(hashed(physicalKey('lock', 'order:{}:{user1}{b}'))).toBe('user1');
  });
});
