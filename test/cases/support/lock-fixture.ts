import { afterAll, afterEach, beforeAll, beforeEach, expect } from '@jest/globals';
import type { Redis, RedisOptions } from 'ioredis';
import {
  createLockClient,
  type LockClient,
  type LockClientOptions,
  type LockEvents,
  type LockHandle,
} from 'nestjs-redis-lock';
import { EventEmitter, once } from 'node:events';
import { Chain } from '../../../libs/redis-lock/src/lock/chain.js';
import { startRedis, type RedisServer } from '../../../scripts/lib/servers.mjs';
import { connected } from '../../support/connected.js';
import { newRedis, uniquePrefix } from '../../support/redis.js';
import { TcpProxy } from '../../support/tcp-proxy.js';
import { waitFor } from '../../support/wait-for.js';
import { ChildProcess } from './child-process.js';
import { CommandLog } from './command-log.js';

/** A private Redis for the tests of one `describe`, a new prefix for each of them, and clients that end with it. */
export class LockFixture {
  server!: RedisServer;
  /** A plain client of that Redis, to look at what is in it and to meddle with it. */
  redis!: Redis;
  prefix = '';
  /** What the clients of this test warned of. */
  readonly warnings: string[] = [];
  private readonly clients: LockClient[] = [];
  private readonly disposers: (() => unknown)[] = [];

  static use(): LockFixture {
    const fixture = new LockFixture();
    beforeAll(async () => {
      fixture.server = await startRedis();
      fixture.redis = newRedis(fixture.server.url);
    });
    beforeEach(async () => {
      fixture.prefix = uniquePrefix();
      await fixture.redis.flushall();
    });
    afterEach(async () => fixture.clear());
    afterAll(async () => {
      fixture.redis.disconnect();
      await fixture.server.stop();
    });
    return fixture;
  }

  /** A client of the private Redis, unless the options name another connection. */
  client(options: Partial<LockClientOptions> = {}): LockClient {
    const client = createLockClient({
      connection: this.server.url,
      prefix: this.prefix,
      shutdown: { drain: 0 },
      logger: { warn: (message) => this.warnings.push(message) },
      ...options,
    });
    this.clients.push(client);
    return client;
  }

  /** A proxy in front of the private Redis. */
  async proxy(): Promise<TcpProxy> {
    const proxy = await TcpProxy.listen(this.server.port);
    this.disposers.push(() => proxy.close());
    return proxy;
  }

  /** A proxy, and a client behind it that is connected and has nothing under way. */
  async clientBehindProxy(options: Partial<LockClientOptions> = {}): Promise<{ proxy: TcpProxy; client: LockClient }> {
    const proxy = await this.proxy();
    const client = this.client({ connection: proxy.url, ...options });
    await this.connected(client);
    return { proxy, client };
  }

  /** Waits until a client is connected and has nothing under way. */
  async connected(client: LockClient): Promise<void> {
    await connected(client);
  }

  /** A client of the user: closed after the test. */
  userClient(options: RedisOptions = {}, url = this.server.url): Redis {
    const redis = newRedis(url, options);
    redis.on('error', () => {});
    this.disposers.push(() => redis.status === 'end' || redis.disconnect());
    return redis;
  }

  /** A process that runs one of the scripts beside this file; killed after the test if it still runs then. */
  process(script: string, config: object): ChildProcess {
    const process = ChildProcess.start(script, config);
    this.disposers.push(() => process.kill('SIGKILL'));
    return process;
  }

  /** Writes down every command that the private Redis carries out from now on. */
  async commandLog(): Promise<CommandLog> {
    const log = await CommandLog.start(this.redis);
    this.disposers.push(() => log.stop());
    return log;
  }

  /** The name of a lock in Redis, for keys without braces. */
  redisKey(key: string): string {
    return `${this.prefix}:{${key}}`;
  }

  /** Who holds a key, `<member>/<token>` each; empty when it is free. */
  async holds(key: string): Promise<string[]> {
    return (await this.fields(key)).filter((field) => field !== '@until');
  }

  /** Everything that stands in the hash of a lock: also that it is a grant that is not confirmed (`@until`). */
  async fields(key: string): Promise<string[]> {
    return this.redis.hkeys(this.redisKey(key));
  }

  async isFree(key: string): Promise<boolean> {
    return (await this.redis.exists(this.redisKey(key))) === 0;
  }

  /** What is left of a lease in Redis, in ms. */
  async lease(key: string): Promise<number> {
    return this.redis.pttl(this.redisKey(key));
  }

  /** Everything of this test that is in Redis. */
  async redisKeys(): Promise<string[]> {
    return (await this.redis.keys(`${this.prefix}*`)).sort();
  }

  /** Makes somebody else the owner of a key, whoever holds it now: what a failover or a human can do. */
  async giveToSomebodyElse(key: string): Promise<Record<string, string>> {
    const theirs = { 'somebody-else#1/9000000000000000': '9000000000000' };
    await this.redis
      .multi()
      .del(this.redisKey(key))
      .hset(this.redisKey(key), theirs)
      .persist(this.redisKey(key))
      .exec();
    return theirs;
  }

  /** Waits until a lease was extended so many times: each time, what is left of it goes up. */
  async untilRenewed(key: string, times: number): Promise<void> {
    let last = await this.lease(key);
    for (let seen = 0; seen < times;) {
      last = await waitFor(
        async () => {
          const left = await this.lease(key);
          if (left > last) seen++;
          const wentUp = left > last;
          last = left;
          return wentUp && left;
        },
        { what: `the lease of ${key} was extended ${seen + 1} of ${times} times` },
      );
    }
  }

  /** Contract 5: nothing is left but the fence counter, neither in Redis nor in the clients. */
  async expectNothingLeft(): Promise<void> {
    const fence = `${this.prefix}:fence`;
    const left = async (): Promise<string[]> => [
      ...(await this.redisKeys()).filter((key) => key !== fence),
      ...this.clients.flatMap(keptBy),
    ];
    // What does not go away in time is shown by the expectation.
    await waitFor(async () => (await left()).length === 0).catch(() => undefined);
    expect(await left()).toEqual([]);
  }

  private async clear(): Promise<void> {
    this.server.resume();
    const clients = this.clients.splice(0);
    const disposers = this.disposers.splice(0);
    await Promise.all(clients.map(async (client) => client.close()));
    this.warnings.length = 0;
    for (const dispose of disposers) dispose();
  }
}

/**
 * What a client still keeps in its maps, sets and chains, wherever they are: the one look behind the public face, because
 * nothing public shows a leak. The store is somebody else's, and listeners of events belong to the test.
 */
function keptBy(client: LockClient): string[] {
  const collections: string[] = [];
  const seen = new Set<unknown>();
  const look = (value: unknown, path: string): void => {
    if (typeof value !== 'object' || value === null || seen.has(value) || value instanceof EventEmitter) return;
    seen.add(value);
    if ('acquire' in value && 'renew' in value) return;
    if (value instanceof Map || value instanceof Set || value instanceof Chain)
      collections.push(`${path}: ${value.size}`);
    else for (const [name, member] of Object.entries(value)) look(member, `${path}.${name}`);
  };
  look(Reflect.get(client, 'engine'), 'engine');
  // Local queues, holds, watched leases, callers, what is given back: if none is found, this looks in the wrong place.
  if (collections.length < 5) throw new Error(`Only ${collections.join(', ')} found`);
  return collections.filter((collection) => !collection.endsWith(': 0'));
}

/** Collects the events of one name. */
export function recordEvents<Name extends keyof LockEvents>(client: LockClient, name: Name): LockEvents[Name][0][] {
  const seen: LockEvents[Name][0][] = [];
  client.events.on(name, ((event: LockEvents[Name][0]) => seen.push(event)) as never);
  return seen;
}

/** What a promise is rejected with; a promise that is fulfilled fails the test. */
export async function rejection(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    (value) => {
      throw new Error(`Expected a rejection, but it was fulfilled with ${String(value)}`);
    },
    (error: unknown) => error,
  );
}

/** Runs something and measures it. */
export async function timed<T>(work: () => Promise<T>): Promise<{ result: T; ms: number }> {
  const started = performance.now();
  const result = await work();
  return { result, ms: performance.now() - started };
}

/** When a lock's signal aborts, and with what. */
export async function aborted({ signal }: LockHandle): Promise<{ at: number; reason: unknown }> {
  if (!signal.aborted) await once(signal, 'abort');
  return { at: performance.now(), reason: signal.reason as unknown };
}
