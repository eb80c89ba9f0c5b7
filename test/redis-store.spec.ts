import { createRequire } from 'node:module';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { Redis } from 'ioredis';
import {
  createLockClient,
  LockArgumentError,
  LockUnavailableError,
  RESERVED_TOKENS,
  type LockClient,
  type RedisConnectionSource,
} from 'nestjs-redis-lock';
import { fenceKey, physicalKey } from '../libs/redis-lock/src/stores/redis/physical-key.js';
import { RedisLockStore } from '../libs/redis-lock/src/stores/redis/redis.store.js';
import { acquireScript } from '../libs/redis-lock/src/stores/redis/scripts/acquire.js';
import { inspectScript } from '../libs/redis-lock/src/stores/redis/scripts/inspect.js';
import { releaseScript } from '../libs/redis-lock/src/stores/redis/scripts/release.js';
import { renewScript } from '../libs/redis-lock/src/stores/redis/scripts/renew.js';
import { startRedis, type RedisServer } from '../scripts/lib/servers.mjs';
import { describeWithRedisServer, newRedis, uniquePrefix } from './support/redis.js';
import { waitFor } from './support/wait-for.js';

const MINUTE = 60_000;

describeWithRedisServer('The Redis store', () => {
  let server: RedisServer;
  let redis: Redis;
  let prefix: string;
  let store: RedisLockStore;
  const opened: { close(): Promise<void> }[] = [];
  const warnings: string[] = [];

  beforeAll(async () => {
    server = await startRedis();
    redis = newRedis(server.url);
  });

  beforeEach(() => {
    prefix = uniquePrefix();
    store = open();
  });

  afterEach(async () => {
    await Promise.all(opened.splice(0).map(async (each) => each.close()));
    warnings.length = 0;
  });

  afterAll(async () => {
    redis.disconnect();
    await server.stop();
  });

  function make(connection: RedisConnectionSource): RedisLockStore {
    const logger = { warn: (message: string) => warnings.push(message) };
    return new RedisLockStore({ connection, prefix, commandTimeoutMs: 10_000, logger });
  }

  /** A store that is closed after the test. */
  function open(connection: RedisConnectionSource = server.url): RedisLockStore {
    const made = make(connection);
    opened.push(made);
    return made;
  }

  function newClient(): LockClient {
    const client = createLockClient({ connection: server.url, prefix });
    opened.push(client);
    return client;
  }

  async function acquire(
    member = 'm#1',
    { key = 'k', leaseMs = MINUTE, withinMs = 10_000, by = store } = {},
  ): Promise<number> {
    const reply = await by.acquire({ key, member, leaseMs, withinMs });
    if (reply.status !== 'acquired') throw new Error(`Not acquired, but held by ${reply.holder}`);
    return reply.token;
  }

  async function renew(
    token: number,
    leaseMs: number,
    { member = 'm#1', key = 'k', by = store } = {},
  ): Promise<string> {
    const [reply] = by.renew([{ key, member, token, leaseMs }]);
    return (await reply)?.status ?? 'no answer';
  }

  async function release(
    token: number,
    { member = 'm#1', key = 'k', minHoldMs = 0, by = store } = {},
  ): Promise<string> {
    return (await by.release({ key, member, token, minHoldMs })).status;
  }

  /** What the server is told meanwhile, and what its scripts do. Nothing may be under way when it begins. */
  async function monitored(work: () => Promise<unknown>): Promise<{ command: string[]; source: string }[]> {
    const monitor = await redis.monitor();
    const seen: { command: string[]; source: string }[] = [];
    monitor.on('monitor', (_time: string, command: string[], source: string) => seen.push({ command, source }));
    try {
      await work();
      await redis.echo(prefix);
      await waitFor(() => seen.some(({ command }) => command[1] === prefix));
      return seen;
    } finally {
      monitor.disconnect();
    }
  }

  const nameOf = (key: string): string => `${prefix}:{${key}}`;
  const fence = (): string => `${prefix}:fence`;
  const names = async (): Promise<string[]> => (await redis.keys(`${prefix}*`)).sort();

  describe('data in Redis', () => {
    test('a hold is the field <member>/<token> of a hash, its value the end of the lease', async () => {
      const token = await acquire('host-1-abc#7', { leaseMs: MINUTE });
      expect(await redis.type(nameOf('k'))).toBe('hash');
      expect(await redis.hgetall(nameOf('k'))).toEqual({
        [`host-1-abc#7/${token}`]: String(Math.floor(token / 1000) + MINUTE),
      });
      expect(await names()).toEqual([fence(), nameOf('k')]);
    });

    test('the hash ends with the lease', async () => {
      await acquire('m#1', { leaseMs: MINUTE });
      const left = await redis.pttl(nameOf('k'));
      expect(left).toBeGreaterThan(MINUTE / 2);
      expect(left).toBeLessThanOrEqual(MINUTE);
    });

    test('a renewal moves the end, in the value and in the expiry', async () => {
      const token = await acquire('m#1', { leaseMs: MINUTE });
      expect(await renew(token, 10 * MINUTE)).toBe('renewed');
      const [end] = await redis.hvals(nameOf('k'));
      const [seconds, micros] = await redis.time();
      const left = Number(end) - (Number(seconds) * 1000 + Number(micros) / 1000);
      expect(left).toBeGreaterThan(9 * MINUTE);
      expect(left).toBeLessThanOrEqual(10 * MINUTE);
      expect(await redis.pttl(nameOf('k'))).toBeGreaterThan(9 * MINUTE);
    });

    test('a token is the time of the server in µs, 16 digits in full', async () => {
      const [before, beforeMicros] = await redis.time();
      const token = await acquire();
      const [after, afterMicros] = await redis.time();
      expect(token).toBeGreaterThanOrEqual(Number(before) * 1e6 + Number(beforeMicros));
      expect(token).toBeLessThanOrEqual(Number(after) * 1e6 + Number(afterMicros));
      // tostring would have made 1.7e+15 of it.
      expect(await redis.hkeys(nameOf('k'))).toEqual([expect.stringMatching(/^m#1\/\d{16}$/)]);
      expect(await redis.get(fence())).toMatch(/^\d{16}$/);
    });

    test('the fence is a string with the highest number given out, which stays', async () => {
      await acquire('m#1', { key: 'a' });
      const token = await acquire('m#2', { key: 'b' });
      expect(await redis.type(fence())).toBe('string');
      expect(await redis.get(fence())).toBe(String(token + RESERVED_TOKENS));
      expect(await redis.pttl(fence())).toBe(-1);
    });

    test('minHold turns the hold into @rest, which ends by itself', async () => {
      const token = await acquire('m#1', { leaseMs: MINUTE });
      expect(await release(token, { minHoldMs: MINUTE / 2 })).toBe('kept');
      expect(await redis.hgetall(nameOf('k'))).toEqual({ '@rest': `m#1/${token}` });
      const left = await redis.pttl(nameOf('k'));
      expect(left).toBeGreaterThan(0);
      expect(left).toBeLessThanOrEqual(MINUTE / 2);
      expect(await store.inspect('k')).toMatchObject({ status: 'held', holder: 'minHold', token: 0 });
    });

    test('nothing but the fence is left after the release', async () => {
      for (const key of ['k', '{tag}k', '}{', 'a b\n💰']) {
        const token = await acquire('m#1', { key });
        await renew(token, 2 * MINUTE, { key });
        expect(await release(token, { key })).toBe('released');
      }
      expect(await names()).toEqual([fence()]);
    });

    test('nothing but the fence is left after the lease', async () => {
      await acquire('m#1', { leaseMs: 20 });
      await waitFor(async () => (await names()).length === 1);
      expect(await names()).toEqual([fence()]);
    });

    test('who looks, asks in vain or has nothing to release leaves nothing', async () => {
      await store.inspect('k');
      expect(await renew(1, MINUTE)).toBe('gone');
      expect(await release(1)).toBe('lost');
      expect(await names()).toEqual([]);
    });
  });

  describe('fencing tokens', () => {
    test('grow although the counter was lost', async () => {
      const first = await acquire();
      await release(first);
      await redis.del(fence());
      expect(await acquire('m#2')).toBeGreaterThan(first);
    });

    test('grow although the counter is ahead of the clock', async () => {
      const ahead = (Date.now() + 24 * 60 * MINUTE) * 1000;
      await redis.set(fence(), String(ahead));
      expect(await acquire('m#1', { key: 'a' })).toBe(ahead + 1);
      expect(await acquire('m#2', { key: 'b' })).toBe(ahead + 2 + RESERVED_TOKENS);
      expect(await redis.get(fence())).toBe(String(ahead + 2 + 2 * RESERVED_TOKENS));
    });

    test('stay the same when the owner asks again, and do not count then', async () => {
      const token = await acquire();
      expect(await acquire()).toBe(token);
      expect(await redis.get(fence())).toBe(String(token + RESERVED_TOKENS));
      expect(await redis.hlen(nameOf('k'))).toBe(1);
    });

    test('do not keep a lock that is released while the counter is ahead of the clock', async () => {
      await redis.set(fence(), String((Date.now() + 24 * 60 * MINUTE) * 1000));
      expect(await release(await acquire())).toBe('released');
      expect(await names()).toEqual([fence()]);
    });

    test('do not lengthen minHold while the counter is ahead of the clock', async () => {
      await redis.set(fence(), String((Date.now() + 24 * 60 * MINUTE) * 1000));
      expect(await release(await acquire('m#1', { leaseMs: 10 * MINUTE }), { minHoldMs: MINUTE })).toBe('kept');
      expect(await redis.pttl(nameOf('k'))).toBeLessThanOrEqual(MINUTE);
    });
  });

  describe('rights', () => {
    const needed = (
      'evalsha eval time hkeys hget hmget hset hdel set del pttl pexpire ' +
      'exists zadd zscore zrem zcard zrange zpopmin'
    ).split(' ');
    /** Without them nobody can be told, and waiting callers come back by themselves. */
    const forGrants = ['publish', 'subscribe', 'pubsub|numsub'];
    let user: string;

    beforeEach(async () => {
      user = `user-${prefix}`;
      // From here on it is not the one that loads the scripts.
      await store.inspect('connected');
    });

    /** A user with these commands and no other, on these keys, and a store that connects as this user. */
    async function openAs(commands: readonly string[], keys: readonly string[]): Promise<RedisLockStore> {
      const rights = [...keys.map((key) => `~${key}`), `&${prefix}:*`, '-@all', ...commands.map((name) => `+${name}`)];
      await redis.call('ACL', 'SETUSER', user, 'reset', 'on', '>secret', ...rights);
      return open({ port: server.port, username: user, password: 'secret' });
    }

    /** Every script, each in all of its ways. */
    async function doEverything(by: RedisLockStore): Promise<void> {
      const first = await acquire('m#1', { by });
      expect(await acquire('m#1', { by })).toBe(first);
      expect(await by.acquire({ key: 'k', member: 'm#2', leaseMs: MINUTE, withinMs: 10_000 })).toMatchObject({
        status: 'held',
      });
      expect(await by.inspect('k')).toMatchObject({ status: 'held' });
      expect(await renew(first, 2 * MINUTE, { by })).toBe('renewed');
      expect(await release(first + 1, { by })).toBe('lost');
      expect(await release(first, { by })).toBe('released');
      const next = await acquire('m#3', { by });
      const queued = { key: 'k', leaseMs: MINUTE, withinMs: 10_000, queue: {} };
      expect(await by.acquire({ ...queued, member: 'm#4' })).toMatchObject({ status: 'held', queued: 1 });
      expect(await by.acquire({ ...queued, member: 'm#4', queue: { uncountable: true } })).toMatchObject({ queued: 1 });
      // A grant that nobody has confirmed in time.
      await redis.hset(nameOf('k'), '@until', '1');
      expect(await by.acquire({ ...queued, member: 'n#1' })).toMatchObject({ status: 'acquired' });
      await redis.hset(nameOf('k'), '@until', String(Date.now() + MINUTE));
      const granted = await by.acquire({ ...queued, member: 'n#1' });
      expect(granted).toMatchObject({ status: 'acquired', granted: true });
      const token = granted.status === 'acquired' ? granted.token : 0;
      expect(await renew(token, MINUTE, { member: 'n#1', by })).toBe('renewed');
      expect(await release(token, { member: 'n#1', minHoldMs: MINUTE, by })).toBe('kept');
      expect(next).toBeLessThan(token);
    }

    test('these commands on ~<prefix>:* and &<prefix>:* are enough, with and without INFO and SCRIPT LOAD', async () => {
      await doEverything(await openAs([...needed, ...forGrants, 'info', 'script|load'], [`${prefix}:*`]));
      expect(await redis.call('ACL', 'LOG', '1')).toEqual([]);
      await redis.del(nameOf('k'));
      await redis.script('FLUSH');
      await doEverything(await openAs([...needed, 'info'], [`${prefix}:*`]));
    });

    test.each(needed)('and not one less: without %s the caller is told', async (missing) => {
      const commands = needed.filter((name) => name !== missing);
      await redis.script('FLUSH');
      const by = await openAs([...commands, 'info'], [`${prefix}:*`]);
      const refused = await doEverything(by).catch((error: unknown) => error);
      expect(refused).toBeInstanceOf(LockUnavailableError);
      expect(refused).toMatchObject({ retryable: false });
    });

    test('the caller is told that a right is missing, whether a script or a command of it is refused', async () => {
      for (const missing of ['evalsha', 'hset']) {
        const commands = needed.filter((name) => name !== missing);
        const by = await openAs([...commands, 'info', 'script|load'], [`${prefix}:*`]);
        await expect(acquire('m#1', { by })).rejects.toThrow(/lacks a permission/);
      }
      const by = await openAs([...needed, 'info', 'script|load'], ['other:*']);
      await expect(acquire('m#1', { by })).rejects.toThrow(/lacks a permission/);
    });

    test('a script touches the keys that it names and no other', async () => {
      await store.inspect('connected');
      const commands = await monitored(async () => doEverything(store));
      const ran = new Set<string>();
      const touched = new Set<string>();
      const notNamed: string[][] = [];
      let keys: string[] = [];
      for (const { command, source } of commands) {
        const [name = '', first = ''] = command;
        if (name.toLowerCase() === 'evalsha') {
          ran.add(first);
          keys = command.slice(3, 3 + Number(command[2]));
        } else if (source === 'lua' && !['time', 'pubsub', 'publish'].includes(name.toLowerCase())) {
          touched.add(first);
          if (!keys.includes(first)) notNamed.push(command);
        }
      }
      expect(notNamed).toEqual([]);
      expect(ran).toEqual(new Set([acquireScript, renewScript, releaseScript, inspectScript].map(({ sha }) => sha)));
      expect(touched).toEqual(new Set([nameOf('k'), `${nameOf('k')}:queue`, fence()]));
    });
  });

  describe('scripts', () => {
    test('go on after SCRIPT FLUSH', async () => {
      const token = await acquire();
      await redis.script('FLUSH');
      expect(await renew(token, 2 * MINUTE)).toBe('renewed');
      await redis.script('FLUSH');
      expect(await store.inspect('k')).toMatchObject({ status: 'held', holder: 'm#1', token });
      await redis.script('FLUSH');
      expect(await release(token)).toBe('released');
      await redis.script('FLUSH');
      expect(await acquire('m#2')).toBeGreaterThan(token);
    });

    test('know nothing of numbers that tostring would spoil', async () => {
      for (const { lua } of [acquireScript, renewScript, releaseScript, inspectScript])
        expect(lua).not.toContain('tostring');
    });

    test('an acquire whose time is over does nothing and tells the time', async () => {
      const [seconds, micros] = await redis.time();
      const notAfter = Number(seconds) * 1e6 + Number(micros) - 1;
      const reply = (await redis.eval(
        acquireScript.lua,
        2,
        nameOf('k'),
        fence(),
        'm#1',
        MINUTE,
        notAfter,
      )) as unknown[];
      expect(reply).toEqual(['late', expect.stringMatching(/^\d{16}$/)]);
      expect(Number(reply[1])).toBeGreaterThan(notAfter);
      expect(await names()).toEqual([]);
    });

    test('an acquire that reaches the server too late is refused, and locks for nobody', async () => {
      await store.inspect('k');
      // The server takes the command at once and carries it out a second later.
      await redis.client('PAUSE', 1_000, 'ALL');
      const late = store.acquire({ key: 'k', member: 'm#1', leaseMs: MINUTE, withinMs: 50 });
      await expect(late).rejects.toBeInstanceOf(LockUnavailableError);
      await expect(late).rejects.toMatchObject({ retryable: true, mayHaveRun: false });
      expect(await names()).toEqual([]);
    });

    test('an acquire that the server carries out slowly, but in its time, is not refused', async () => {
      await store.inspect('k');
      await redis.client('PAUSE', 500, 'ALL');
      const slow = store.acquire({ key: 'k', member: 'm#1', leaseMs: MINUTE, withinMs: 30_000 });
      expect(await slow).toMatchObject({ status: 'acquired' });
    });
  });

  describe('something else under the name of a lock', () => {
    test('is no lock: the caller is told at once what to do, and it is left as it is', async () => {
      const client = newClient();
      await client.isLocked('connected');
      await redis.set(nameOf('k'), 'a text');
      let error: unknown;
      const commands = await monitored(async () => {
        error = await client.acquire('k', { wait: '1m' }).catch((reason: unknown) => reason);
      });
      expect(error).toBeInstanceOf(LockUnavailableError);
      expect(error).toMatchObject({ key: 'k', retryable: false });
      expect((error as Error).message).toContain('choose another key or "prefix"');
      expect(await redis.get(nameOf('k'))).toBe('a text');
      expect(commands.filter(({ command }) => command[1] === acquireScript.sha)).toHaveLength(1);
    });

    test('is told of by every command', async () => {
      await redis.rpush(nameOf('k'), 'a list');
      const commands = [acquire(), renew(1, MINUTE), release(1), store.inspect('k')];
      for (const outcome of await Promise.allSettled(commands)) {
        expect(outcome).toMatchObject({ status: 'rejected', reason: expect.any(LockUnavailableError) });
        expect(outcome).toHaveProperty('reason.message', expect.stringContaining('"prefix"'));
      }
    });

    test('is told of when it is where the fence should be', async () => {
      await redis.rpush(fence(), 'a list');
      await expect(acquire()).rejects.toThrow('choose another key or "prefix"');
      expect(await redis.exists(nameOf('k'))).toBe(0);
    });

    test('leaves no lock behind when the fence is no number', async () => {
      await redis.set(fence(), 'a text');
      await expect(acquire()).rejects.toBeInstanceOf(LockUnavailableError);
      expect(await redis.exists(nameOf('k'))).toBe(0);
    });

    test('counts as held when it is a hash, and the errors of a lock stay errors of a lock', async () => {
      const client = newClient();
      await redis.hset(nameOf('k'), 'a field of somebody else', '1');
      expect(await client.isLocked('k')).toBe(true);
      await expect(client.acquire('k', { wait: 0 })).rejects.toMatchObject({ code: 'LOCK_BUSY' });
      await expect(client.acquire('k', { wait: 50 })).rejects.toMatchObject({ code: 'LOCK_TIMEOUT' });
      expect(await client.tryAcquire('k')).toBeNull();
    });
  });

  describe('the policy for a full memory', () => {
    async function warningsAt(...args: string[]): Promise<string[]> {
      await using full = await startRedis({ args });
      const asked = make(full.url);
      // These answers come behind the one that tells the policy.
      await asked.inspect('k');
      await asked.inspect('k');
      const seen = [...warnings];
      await asked.close();
      return seen;
    }

    test('that evicts locks is warned of', async () => {
      expect(await warningsAt('--maxmemory', '50mb', '--maxmemory-policy', 'allkeys-lru')).toEqual([
        expect.stringMatching(/maxmemory-policy allkeys-lru.*noeviction/),
      ]);
    });

    test('that evicts what has an expiry is warned of, for locks have one', async () => {
      expect(await warningsAt('--maxmemory', '50mb', '--maxmemory-policy', 'volatile-ttl')).toHaveLength(1);
    });

    test('that evicts nothing is not', async () => {
      expect(await warningsAt('--maxmemory', '50mb', '--maxmemory-policy', 'noeviction')).toEqual([]);
      expect(await warningsAt('--maxmemory', '0', '--maxmemory-policy', 'allkeys-lru')).toEqual([]);
    });
  });

  test('a client of the user is neither used nor changed nor closed', async () => {
    const theirs = newRedis(server.url, { keyPrefix: 'theirs:', stringNumbers: true, lazyConnect: true });
    const options = { ...theirs.options };
    const token = await acquire('m#1', { by: open(theirs) });
    expect(await redis.hkeys(nameOf('k'))).toEqual([`m#1/${token}`]);
    expect(theirs.status).toBe('wait');
    expect(theirs.options).toEqual(options);
    theirs.disconnect();
  });
});

describe('A connection that is none', () => {
  const nodeRedis = { options: {}, isOpen: false, connect: () => {}, duplicate: () => {}, sendCommand: () => {} };

  test.each<[string, unknown]>([
    ['a node-redis client', nodeRedis],
    ['an object with the methods of a node-redis client', Object.create(nodeRedis)],
    ['http://', 'http://localhost:6379'],
    ['a host and a port', 'localhost:6379'],
    ['redis:// and nothing', 'redis://'],
    ['an empty text', ''],
    ['a number', 6379],
    ['true', true],
    ['null', null],
    ['a symbol', Symbol('redis')],
    ['a function', () => 'redis://localhost:6379'],
  ])('is refused before anything is opened: %s', (_, connection) => {
    const error = refusal(connection);
    expect(error).toBeInstanceOf(LockArgumentError);
    expect((error as Error).message).toMatch(/option "connection" is .*, but must be/is);
  });

  test('is refused before anything is opened: a Cluster without nodes', () => {
    expect(refusal({ cluster: [] })).toBeInstanceOf(LockArgumentError);
  });

  test('names ioredis to whoever gives the client of another library', () => {
    expect((refusal(nodeRedis) as Error).message).toMatch(/node-redis, are not supported; .* make an ioredis client/);
  });

  test('does not tell its password', () => {
    expect((refusal('https://user:secret@localhost:6379') as Error).message).not.toContain('secret');
    expect((refusal('user:secret@localhost:6379') as Error).message).not.toContain('secret');
  });

  function refusal(connection: unknown): unknown {
    try {
      return createLockClient({ connection: connection as RedisConnectionSource });
    } catch (error) {
      return error;
    }
  }
});

describe('The name of a lock in Redis', () => {
  const fromHere = createRequire(import.meta.url);
  /** Of ioredis: the hash slot of a key in a Cluster. */
  const slotOf = createRequire(fromHere.resolve('ioredis'))('cluster-key-slot') as (key: string) => number;

  const keys = [
    ...String.raw`a b {a} {a}b b{a} b{a}c {a}{b} {b}{a} a{}b {} }{ }{a} { } {{a}} {a a} {}a {}{a} {a}{}`.split(' '),
    ...'k {k} {k}:queue {k}:waiters k:queue k:waiters k}:queue k} {k}} {{k} fence inbox:a 💰 {💰}'.split(' '),
    ...String.raw`\ \( \) \\ {\} {\(} \{a} {a}\ a\}`.split(' '),
    ' ',
  ];

  test('is <prefix>:{<key>}, and a tag stays the tag', () => {
    expect(physicalKey('lock', 'a')).toBe('lock:{a}');
    expect(physicalKey('lock', 'order:7:9')).toBe('lock:{order:7:9}');
    expect(physicalKey('lock', '{a}b')).toBe(String.raw`lock:{a}\(a\)b}`);
    expect(slotOf(physicalKey('lock', '{a}b'))).toBe(slotOf('a'));
    expect(slotOf(physicalKey('lock', 'b:{a}:c'))).toBe(slotOf('{a}'));
    expect(slotOf(physicalKey('lock', '{}{a}'))).toBe(slotOf('a'));
  });

  test('is another one for every key, with its queue and its waiters', () => {
    const all = keys.flatMap((key) => namesOf('lock', key));
    all.push(fenceKey('lock'));
    expect(all.filter((name, index) => all.indexOf(name) !== index)).toEqual([]);
  });

  test.each(keys)('shares a slot with its queue and its waiters: %j', (key) => {
    const [lock, queue, waiters] = namesOf('lock', key).map(slotOf);
    expect([queue, waiters]).toEqual([lock, lock]);
  });

  test('spreads over the slots', () => {
    const slots = new Set(Array.from({ length: 1_000 }, (_, index) => slotOf(physicalKey('lock', `order:${index}`))));
    expect(slots.size).toBeGreaterThan(900);
  });

  test('is another one for a thousand random keys of braces and backslashes, each in one slot', () => {
    const letters = String.raw`{}\()a:`;
    const letter = (): string => letters[Math.floor(Math.random() * letters.length)] ?? '';
    const keyOf = new Map<string, string>();
    const wrong: string[][] = [];
    for (let round = 0; round < 1_000; round++) {
      const key = Array.from({ length: 1 + (round % 7) }, letter).join('');
      const all = namesOf('lock', key);
      if (new Set(all.map(slotOf)).size > 1) wrong.push(all);
      for (const name of all) {
        if ((keyOf.get(name) ?? key) !== key) wrong.push([name, key, String(keyOf.get(name))]);
        keyOf.set(name, key);
      }
    }
    expect(wrong).toEqual([]);
  });

  test('is another one for every prefix', () => {
    expect(physicalKey('shop', 'eu:{a}')).not.toBe(physicalKey('shop:eu', '{a}'));
  });

  function namesOf(prefix: string, key: string): string[] {
    const name = physicalKey(prefix, key);
    return [name, `${name}:queue`, `${name}:waiters`];
  }
});
