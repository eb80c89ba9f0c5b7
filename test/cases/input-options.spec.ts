import { expect, test } from '@jest/globals';
import { createLockClient, LockArgumentError, type LockOptions } from 'nestjs-redis-lock';
import { describeWithRedisServer } from '../support/redis.js';
import { LockFixture, rejection } from './support/lock-fixture.js';

/** What 1.5e400 is. */
const tooLarge = Infinity;
const broken: unknown[] = [-1, NaN, -Infinity, '5 parsecs', '', null, 2 ** 53, '1e400', 1n, true, {}, [], new Date()];
/** `wait` and `maxHold` may be Infinity, where it is asked for. */
const options = [
  ...[0, '0', '0s', tooLarge, ...broken].map((value) => ['ttl', value] as const),
  ...broken.map((value) => ['wait', value] as const),
  ...[tooLarge, ...broken].map((value) => ['minHold', value] as const),
  ...[0, ...broken].map((value) => ['maxHold', value] as const),
];

describeWithRedisServer('Input: options', () => {
  const fixture = LockFixture.use();

  test.each(options)(
    'case 51: %s is %p → an error that names the option and the lock, before any command',
    async (option, value) => {
      const client = fixture.client();
      await fixture.connected(client);
      const log = await fixture.commandLog();
      const bad = { [option]: value } as LockOptions;
      const work = (): never => {
        throw new Error('The work must not run');
      };
      const errors = await Promise.all([
        rejection(client.run('order:42', work, bad)),
        rejection(client.tryRun('order:42', work, bad)),
        rejection(client.acquire('order:42', bad)),
        rejection(client.tryAcquire('order:42', bad)),
      ]);
      for (const error of errors) {
        expect(error).toBeInstanceOf(LockArgumentError);
        expect(error).toMatchObject({ code: 'LOCK_ARGUMENT', key: 'order:42', statusCode: 500 });
        expect(error).toHaveProperty('message', expect.stringContaining(`"${option}"`));
        expect(error).toHaveProperty('message', expect.stringContaining('"order:42"'));
      }
      expect(await log.calls()).toEqual([]);
      expect(await fixture.redisKeys()).toEqual([]);
      await fixture.expectNothingLeft();
    },
  );

  test.each([0, tooLarge, ...broken])(
    'case 51: extend(%p) → an error that names ttl and the lock, before any command, and the lock is still held',
    async (value) => {
      const client = fixture.client();
      const lock = await client.acquire('order:42', { ttl: '1m' });
      const log = await fixture.commandLog();
      const error = await rejection(lock.extend(value as number));
      expect(error).toBeInstanceOf(LockArgumentError);
      expect(error).toHaveProperty('message', expect.stringMatching(/"order:42".*"ttl"/s));
      expect(await log.calls()).toEqual([]);
      expect(lock.held).toBe(true);
      expect(await lock.release()).toBe('released');
      await fixture.expectNothingLeft();
    },
  );

  const clientOptions: [name: string, options: object][] = [0, tooLarge, ...broken].flatMap(
    (value): [string, object][] => [
      ['ttl', { ttl: value }],
      ['commandTimeout', { commandTimeout: value }],
      ['backoff.initial', { backoff: { initial: value } }],
      ['backoff.max', { backoff: { max: value } }],
      ...(value === 0 ? [] : [['shutdown.drain', { shutdown: { drain: value } }] as [string, object]]),
    ],
  );
  test.each(clientOptions)(
    'case 51: a client whose %s is wrong (%o) → an error that names it, when it is made',
    (name, bad) => {
      const make = (): unknown => createLockClient({ store: 'memory', ...bad });
      expect(make).toThrow(LockArgumentError);
      expect(make).toThrow(`"${name}"`);
    },
  );

  test.each([
    ['wait', Infinity],
    ['wait', 0],
    ['maxHold', Infinity],
    ['minHold', 0],
    ['ttl', '1.5s'],
    ['ttl', '2 minutes'],
    ['ttl', 1_000.4],
  ] as const)('case 51: %s is %p → accepted', async (option, value) => {
    const client = fixture.client();
    const lock = await client.acquire('order', { [option]: value });
    expect(await lock.release()).toBe('released');
    await fixture.expectNothingLeft();
  });

  /** So short a lease may end before the work does; what counts is that it was not refused. */
  async function accepted(work: Promise<unknown>): Promise<void> {
    const error = await work.catch((reason: unknown) => reason);
    expect(error).not.toBeInstanceOf(LockArgumentError);
  }

  test('case 56: ttl 30 → accepted, with one warning that says what was probably meant', async () => {
    const client = fixture.client();
    await accepted(client.run('order:1', () => 'work', { ttl: 30 }));
    await accepted(client.tryRun('order:2', () => 'work', { ttl: 30 }));
    await accepted(client.acquire('order:3', { ttl: 999 }));
    const warned = fixture.warnings.filter((text) => text.includes('seconds'));
    expect(warned).toEqual([expect.stringMatching(/"order:1".*30 ms.*'30s'/)]);
  });

  test('case 56: ttl 500 → a lease of 500 ms, not of 500 s', async () => {
    const client = fixture.client();
    const lock = await client.acquire('order', { ttl: 500, renew: false });
    expect(lock.remaining).toBeLessThanOrEqual(500);
    expect(await fixture.lease('order')).toBeLessThanOrEqual(500);
  });

  test('case 56: ttl 30 as the default of a client → accepted, with one warning', async () => {
    const client = fixture.client({ ttl: 30 });
    await accepted(client.run('order:1', () => 'work'));
    await accepted(client.run('order:2', () => 'work'));
    expect(fixture.warnings.filter((text) => text.includes('seconds'))).toEqual([expect.stringContaining("'30s'")]);
  });

  test.each([1_000, '30ms', '0.5s'] as const)('case 56: ttl %p → no warning', async (ttl) => {
    const client = fixture.client();
    await accepted(client.run('order', () => 'work', { ttl }));
    expect(fixture.warnings.filter((text) => text.includes('seconds'))).toEqual([]);
  });
});
