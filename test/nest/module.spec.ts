import { expect, test } from '@jest/globals';
import { Inject, Injectable, Module, type ModuleMetadata } from '@nestjs/common';
import {
  Locked,
  LockService,
  MemoryLockStore,
  RedisLockModule,
  type RedisLockModuleOptions,
  type RedisLockOptionsFactory,
} from 'nestjs-redis-lock';
import { describeWithRedis, newRedis, sharedRedisUrl } from '../support/redis.js';
import { locksOf, NestFixture, rejection } from './support/nest-fixture.js';
import { Overlap } from './support/overlap.js';

@Injectable()
class Orders {
  readonly overlap = new Overlap();

  @Locked('order:<id>')
  async buy(id: number): Promise<number> {
    return this.overlap.during(async () => id);
  }
}

type Imports = NonNullable<ModuleMetadata['imports']>;

describeWithRedis('RedisLockModule', () => {
  const fixture = NestFixture.use();
  const options = (): RedisLockModuleOptions => ({ connection: sharedRedisUrl(), prefix: fixture.prefix });

  @Injectable()
  class OptionsFactory implements RedisLockOptionsFactory {
    createRedisLockOptions(): RedisLockModuleOptions {
      return options();
    }
  }

  @Module({
    providers: [OptionsFactory, { provide: 'URL', useFactory: sharedRedisUrl }],
    exports: ['URL', OptionsFactory],
  })
  class ConfigModule {}

  test.each<[string, () => Imports]>([
    ['forRoot', () => [RedisLockModule.forRoot(options())]],
    [
      'forRootAsync with useFactory',
      () => [
        RedisLockModule.forRootAsync({
          imports: [ConfigModule],
          inject: ['URL'],
          useFactory: async (connection: string) => ({ connection, prefix: fixture.prefix }),
        }),
      ],
    ],
    ['forRootAsync with useClass', () => [RedisLockModule.forRootAsync({ useClass: OptionsFactory })]],
    [
      'forRootAsync with useExisting',
      () => [RedisLockModule.forRootAsync({ imports: [ConfigModule], useExisting: OptionsFactory })],
    ],
  ])('%s → its options count, and it is global', async (_how, imports) => {
    @Module({ providers: [Orders], exports: [Orders] })
    class OrdersModule {}
    const app = await fixture.compile({ imports: [OrdersModule, ...imports()] });
    await fixture.lockElsewhere('order:7');
    expect(await locksOf(app).isLocked('order:7')).toBe(true);
    expect(await Promise.all([app.get(Orders).buy(8), app.get(Orders).buy(8)])).toEqual([8, 8]);
    expect(app.get(Orders).overlap).toMatchObject({ runs: 2, most: 1 });
  });

  test('isGlobal: false → it is there where it is imported, and elsewhere the start fails and says what to import', async () => {
    const lockModule = RedisLockModule.forRoot({ store: 'memory', isGlobal: false });
    @Module({ imports: [lockModule], providers: [Orders] })
    class WithLocks {}
    @Module({ providers: [Orders] })
    class WithoutLocks {}

    const app = await fixture.compile({ imports: [WithLocks] });
    expect(await app.get(Orders, { strict: false }).buy(7)).toBe(7);
    const error = await rejection(fixture.compile({ imports: [lockModule, WithoutLocks] }));
    expect((error as Error).message).toMatch(/Orders.*LockService \(import RedisLockModule\.forRoot\)/s);
  });

  test('enabled: false → two callers are in together, and Redis is neither needed nor asked', async () => {
    for (const extra of [{}, { connection: 'redis://127.0.0.1:1' }]) {
      const app = await fixture.compile({
        imports: [RedisLockModule.forRoot({ enabled: false, ...extra })],
        providers: [Orders],
      });
      const { overlap } = app.get(Orders);
      overlap.untilAtOnce = 2;
      expect(await Promise.all([app.get(Orders).buy(7), app.get(Orders).buy(7)])).toEqual([7, 7]);
      expect(overlap.most).toBe(2);
      await app.close();
    }
  });

  test.each<[string, () => RedisLockModuleOptions['connection']]>([
    ['a URL', sharedRedisUrl],
    [
      'ioredis options',
      () => ({ host: new URL(sharedRedisUrl()).hostname, port: Number(new URL(sharedRedisUrl()).port) }),
    ],
  ])('connection: %s → the locks are in that Redis', async (_what, connection) => {
    const app = await fixture.module({ providers: [Orders], lock: { connection: connection() as string } });
    await locksOf(app).run('order:7', async () => {
      expect(await fixture.lockedKeys()).toEqual(['order:7']);
    });
  });

  test('connection: a client of the user → never used, changed or closed', async () => {
    const mine = newRedis(sharedRedisUrl(), { keyPrefix: 'mine:', lazyConnect: true });
    fixture.closeLater(() => mine.disconnect());
    const before = { ...mine.options };
    const listeners = mine.eventNames();

    const app = await fixture.module({ providers: [Orders], lock: { connection: mine } });
    await locksOf(app).run('order:7', async () => {
      expect(await fixture.lockedKeys()).toEqual(['order:7']);
    });
    expect(mine.status).toBe('wait');
    await mine.set(fixture.prefix, 'x', 'EX', 60);
    await app.close();

    expect(await mine.get(fixture.prefix)).toBe('x');
    expect(mine.status).toBe('ready');
    expect(mine.options).toEqual(before);
    expect(mine.eventNames()).toEqual(listeners);
    await mine.del(fixture.prefix);
  });

  test('store: a store of the user → used, and not closed with the application', async () => {
    const store = new MemoryLockStore();
    let closed = 0;
    const close = store.close.bind(store);
    store.close = async () => {
      closed++;
      return close();
    };
    const app = await fixture.compile({ imports: [RedisLockModule.forRoot({ store })], providers: [Orders] });
    await locksOf(app).run('order:7', async () => {
      expect(await store.inspect('order:7')).toMatchObject({ status: 'held' });
    });
    await app.close();
    expect(closed).toBe(0);
    await store.close();
  });

  test.each<[string, object, RegExp]>([
    ['a duration that is none', { ttl: '5 parsecs' }, /"ttl".*5 parsecs/],
    ['a ttl of zero', { ttl: 0 }, /"ttl"/],
    ['a nested duration', { shutdown: { drain: -1 } }, /"shutdown\.drain"/],
    ['a nested option that does not exist', { backoff: { maximum: 1 } }, /"backoff\.maximum"/],
    ['an option that does not exist', { tll: '10s' }, /"tll"/],
    ['a prefix that Redis could misread', { prefix: 'a{b}' }, /"prefix"/],
    ['a flag that is none', { renew: 'yes' }, /"renew"/],
    ['both a connection and a store', { store: 'memory' }, /"connection", "nodes" and "store"/],
    ['neither', { connection: undefined }, /"connection", "nodes" and "store"/],
    ['an empty URL', { connection: '' }, /"connection"/],
    ['a URL of something else', { connection: 'http://localhost' }, /"connection"/],
    ['a number', { connection: 6379 }, /"connection"/],
    ['a store that is none', { connection: undefined, store: {} }, /"store"/],
  ])('a bad option, %s → the application does not start, and the option is named', async (_what, bad, message) => {
    const forRoot = async (): Promise<unknown> =>
      fixture.compile({ imports: [RedisLockModule.forRoot({ ...options(), ...bad })] });
    const forRootAsync = async (): Promise<unknown> =>
      fixture.compile({ imports: [RedisLockModule.forRootAsync({ useFactory: () => ({ ...options(), ...bad }) })] });
    for (const start of [forRoot, forRootAsync]) {
      const error = await rejection(start());
      expect(error).toMatchObject({ code: 'LOCK_ARGUMENT', message: expect.stringMatching(message) });
    }
  });

  test('a factory that gives nothing → the application does not start, and says why', async () => {
    const imports = [RedisLockModule.forRootAsync({ useFactory: () => undefined as never })];
    expect(await rejection(fixture.compile({ imports }))).toMatchObject({ code: 'LOCK_ARGUMENT' });
  });

  test('LockService injected by hand → the same one that the decorators use', async () => {
    @Injectable()
    class Service {
      constructor(@Inject(LockService) readonly locks: LockService) {}
    }
    const app = await fixture.module({ providers: [Service, Orders] });
    await app.get(Service).locks.run('order:7', async () => {
      // The same client: its own caller enters the lock that is held.
      expect(await app.get(Orders).buy(7)).toBe(7);
    });
  });
});
