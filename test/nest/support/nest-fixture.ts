import { afterAll, afterEach, beforeAll, beforeEach, expect } from '@jest/globals';
import type { INestApplication, LoggerService, ModuleMetadata } from '@nestjs/common';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { Test, type TestingModule } from '@nestjs/testing';
import type { Redis } from 'ioredis';
import {
  createLockClient,
  RedisLockModule,
  type LockClient,
  type LockClientOptions,
  type LockEvents,
  type LockHandle,
  LockService,
  type RedisLockModuleOptions,
} from 'nestjs-redis-lock';
import { newRedis, sharedRedisUrl, uniquePrefix } from '../../support/redis.js';
import { waitFor } from '../../support/wait-for.js';
import { AskedKeys } from './asked-keys.js';
import { TestServer } from './test-server.js';

export type Platform = 'express' | 'fastify';
export const PLATFORMS: readonly Platform[] = ['express', 'fastify'];

/** A module of the test, and the options of the locks in it. */
export interface ModuleParts extends ModuleMetadata {
  lock?: Partial<RedisLockModuleOptions>;
}

export interface ServerParts extends ModuleParts {
  platform?: Platform;
  /** What `main.ts` does between the creation of the application and `listen`. */
  configure?: (app: INestApplication) => void;
}

/** Nest applications over the shared Redis: a new prefix for each test, and everything is closed after it. */
export class NestFixture {
  prefix = '';
  /** A plain client, to look at what is in Redis and to meddle with it. */
  redis!: Redis;
  /** What the applications of this test logged. */
  readonly logs = new Logs();
  private readonly closers: (() => unknown)[] = [];

  static use(): NestFixture {
    const fixture = new NestFixture();
    beforeAll(() => {
      fixture.redis = newRedis();
    });
    beforeEach(() => {
      fixture.prefix = uniquePrefix();
    });
    afterEach(async () => fixture.clear());
    afterAll(() => fixture.redis.disconnect());
    return fixture;
  }

  /** The import of `RedisLockModule` for this test. */
  lockModule(lock: Partial<RedisLockModuleOptions> = {}): NonNullable<ModuleMetadata['imports']>[number] {
    return RedisLockModule.forRoot({
      connection: sharedRedisUrl(),
      prefix: this.prefix,
      shutdown: { drain: 0 },
      ...lock,
    });
  }

  /** An initialised Nest context. */
  async module({ lock, imports = [], ...parts }: ModuleParts): Promise<TestingModule> {
    return this.compile({ ...parts, imports: [this.lockModule(lock), ...imports] });
  }

  /** Like {@link module}, with nothing in it but what the test gives. */
  async compile(metadata: ModuleMetadata): Promise<TestingModule> {
    const module = await Test.createTestingModule(metadata).setLogger(this.logs).compile();
    this.closeLater(() => module.close());
    return module.init();
  }

  /** An HTTP application that listens. */
  async server({ lock, imports = [], platform = 'express', configure, ...parts }: ServerParts): Promise<TestServer> {
    const module = await Test.createTestingModule({ ...parts, imports: [this.lockModule(lock), ...imports] })
      .setLogger(this.logs)
      .compile();
    const app =
      platform === 'fastify'
        ? module.createNestApplication(new FastifyAdapter({ forceCloseConnections: true }))
        : module.createNestApplication();
    this.closeLater(() => app.close());
    configure?.(app);
    await app.listen(0, '127.0.0.1');
    const server = new TestServer(app, await app.getUrl());
    this.closeLater(() => server.hangUp());
    return server;
  }

  /** A client of another process, as far as the locks can tell. */
  client(options: Partial<LockClientOptions> = {}): LockClient {
    const client = createLockClient({
      connection: sharedRedisUrl(),
      prefix: this.prefix,
      shutdown: { drain: 0 },
      logger: { warn: () => {} },
      ...options,
    });
    this.closeLater(() => client.close());
    return client;
  }

  /** A lock that another process holds, to the end of the test if nobody releases it. */
  async lockElsewhere(key: string, options: Partial<LockClientOptions> = {}): Promise<LockHandle> {
    return this.client(options).acquire(key, { wait: 0 });
  }

  /** Runs after the test, before what was given earlier. */
  closeLater(close: () => unknown): void {
    this.closers.push(close);
  }

  /** The name of a lock in Redis, for keys without braces. */
  redisKey(key: string): string {
    return `${this.prefix}:{${key}}`;
  }

  async isLocked(key: string): Promise<boolean> {
    return (await this.redis.exists(this.redisKey(key))) === 1;
  }

  /** The keys that are locked now. */
  async lockedKeys(): Promise<string[]> {
    const names = await this.redis.keys(`${this.prefix}:{*`);
    return names.map((name) => name.slice(this.prefix.length + 2, -1)).sort();
  }

  /** Contract 5: nothing of this test is in Redis any more but the fence counter. */
  async expectNothingLocked(): Promise<void> {
    const left = async (): Promise<string[]> =>
      (await this.redis.keys(`${this.prefix}*`)).filter((name) => name !== `${this.prefix}:fence`);
    // What does not become free is named by the expectation below.
    await waitFor(async () => (await left()).length === 0).catch(() => undefined);
    expect(await left()).toEqual([]);
  }

  /** Waits until somebody has asked Redis for a key of this test; make it before they do. */
  async watchAsking(key: string): Promise<{ asked: () => Promise<void> }> {
    const keys = await AskedKeys.watch(sharedRedisUrl());
    this.closeLater(() => keys.close());
    return { asked: async () => keys.untilAsked(this.redisKey(key)) };
  }

  private async clear(): Promise<void> {
    const failures: unknown[] = [];
    for (const close of this.closers.splice(0).reverse()) {
      await Promise.resolve()
        .then(close)
        .catch((error: unknown) => failures.push(error));
    }
    this.logs.lines.length = 0;
    if (failures.length > 0) throw new AggregateError(failures, 'Something could not be closed');
  }
}

/** A logger that keeps what it is told. */
export class Logs implements LoggerService {
  readonly lines: { level: string; message: string }[] = [];

  log(message: unknown): void {
    this.add('log', message);
  }

  warn(message: unknown): void {
    this.add('warn', message);
  }

  error(message: unknown): void {
    this.add('error', message);
  }

  of(level: string): string[] {
    return this.lines.filter((line) => line.level === level).map(({ message }) => message);
  }

  private add(level: string, message: unknown): void {
    this.lines.push({ level, message: message instanceof Error ? message.message : String(message) });
  }
}

/** Collects the events of one name. */
export function recordEvents<Name extends keyof LockEvents>(
  client: Pick<LockClient, 'events'>,
  name: Name,
): LockEvents[Name][0][] {
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

/** What a function throws; one that does not throw fails the test. */
export function thrownBy(work: () => unknown): unknown {
  try {
    work();
  } catch (error) {
    return error;
  }
  throw new Error('Expected it to throw, but it did not');
}

export function locksOf(app: { get: TestingModule['get'] }): LockService {
  return app.get(LockService);
}
