import { expect, test } from '@jest/globals';
import { LockArgumentError, lockKey, type LockKey } from 'nestjs-redis-lock';
import { describeWithRedisServer } from '../support/redis.js';
import { LockFixture, rejection } from './support/lock-fixture.js';

/** All different; each pair that looks alike is a pair of two locks. */
// prettier-ignore
const keys = [
  'order:1', 'order:1:2', 'order: 1', ' order:1', 'order:1 ', 'ORDER:1',
  '"', "'", '`', '\\', '\\\\', '\\(', '\\)', '%', '%25', '<', '>', '<id>', '*', '?', '[a]', 'h?llo', '$', '/', '#1',
  '\n', '\r\n', '\t', '\0', 'a\0b', 'a', 'b', '\u00a0', '\u200b',
  '😀', '👩‍👩‍👧', '订单', '订单:1', 'é', 'e\u0301', 'ﬁ', 'fi', 'ı', 'i',
  '__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty', 'undefined', 'null', 'NaN', 'true',
  '0', '-0', '1', '01', '1.0',
  '{', '}', '{}', '}{', '{a}', '{a}b', 'a{}b', '{{a}}', '{a', 'a}', 'a}b', '{b}a', '{a}{b}', 'a{b}', 'b{a}',
  '{a}:queue', 'a:queue', 'a}:queue', 'fence', ':fence', 'inbox', '@rest', '@until',
  'x'.repeat(1024), '订'.repeat(341),
];

describeWithRedisServer('Input: keys', () => {
  const fixture = LockFixture.use();

  test('case 52: every string is a lock of its own, to all clients, and all are held at once', async () => {
    const [client, other] = [fixture.client(), fixture.client()];
    expect(new Set(keys).size).toBe(keys.length);
    const locks = await Promise.all(keys.map(async (key) => client.acquire(key, { ttl: '1m', wait: 0 })));

    expect(locks.map(({ key }) => key)).toEqual(keys);
    expect(new Set(locks.map(({ fencingToken }) => fencingToken)).size).toBe(keys.length);
    // A lock each, and the fence counter.
    expect(await fixture.redisKeys()).toHaveLength(keys.length + 1);
    // For everybody else each of them is held, and for nobody is one free.
    expect(await Promise.all(keys.map(async (key) => other.tryAcquire(key)))).toEqual(keys.map(() => null));
    expect(await Promise.all(keys.map(async (key) => other.isLocked(key)))).toEqual(keys.map(() => true));

    expect(await Promise.all(locks.map(async (lock) => lock.release()))).toEqual(keys.map(() => 'released'));
    expect(await Promise.all(keys.map(async (key) => other.isLocked(key)))).toEqual(keys.map(() => false));
    await fixture.expectNothingLeft();
  });

  test('case 52: every string excludes within one process', async () => {
    const client = fixture.client();
    for (const key of keys) {
      let inside = 0;
      let most = 0;
      const work = async (): Promise<void> => {
        most = Math.max(most, ++inside);
        await fixture.redis.ping();
        inside--;
      };
      await Promise.all([client.run(key, work, { wait: '30s' }), client.run(key, work, { wait: '30s' })]);
      expect({ key, most }).toEqual({ key, most: 1 });
    }
    await fixture.expectNothingLeft();
  });

  test('case 52: values that look alike in a template → a lock each', async () => {
    const client = fixture.client();
    // prettier-ignore
    const pairs: LockKey[] = [
      lockKey`order:${'a:b'}:${'c'}`, lockKey`order:${'a'}:${'b:c'}`, lockKey`order:${'a%3Ab'}:${'c'}`,
      lockKey`${'{a}'}`, lockKey`${'a'}`, lockKey`${'}{'}`, lockKey`{${'a'}}b`, lockKey`${'{a}b'}`,
      lockKey`${'__proto__'}:${''}`, lockKey`${''}:${'__proto__'}`, lockKey`${'a\nb'}`, lockKey`${'a b'}`,
    ];
    const locks = await Promise.all(pairs.map(async (key) => client.acquire(key, { ttl: '1m', wait: 0 })));
    expect(await fixture.redisKeys()).toHaveLength(pairs.length + 1);
    await Promise.all(locks.map(async (lock) => lock.release()));
    await fixture.expectNothingLeft();
  });

  test.each([
    ['10 kB', 'x'.repeat(10 * 1024), /10240 bytes.*1024/],
    ['1,025 bytes in fewer characters', '订'.repeat(341) + 'xx', /1025 bytes.*1024/],
    ['empty', '', /empty/],
    ['half of a surrogate pair', 'order:\ud83d', /Unicode/],
    ['not a string', 42, /must be a string/],
    ['null', null, /must be a string/],
    ['an object', { id: 1 }, /must be a string/],
  ])('case 52: a key that is none (%s) → a clear error before any command', async (_, key, message) => {
    const client = fixture.client();
    await fixture.connected(client);
    const log = await fixture.commandLog();
    for (const attempt of [
      client.run(key as string, () => 'never'),
      client.tryRun(key as string, () => 'never'),
      client.acquire(key as string),
      client.tryAcquire(key as string),
      client.isLocked(key as string),
    ]) {
      const error = await rejection(attempt);
      expect(error).toBeInstanceOf(LockArgumentError);
      expect(error).toHaveProperty('message', expect.stringMatching(message));
      // Not the whole of it in a log.
      expect((error as Error).message.length).toBeLessThan(300);
    }
    expect(await log.calls()).toEqual([]);
    await fixture.expectNothingLeft();
  });
});
