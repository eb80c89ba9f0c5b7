import { describe, expect, test } from '@jest/globals';
import { Controller, Injectable, Module, Param, Post } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import {
  CronLocked,
  LockArgumentError,
  LockBusyError,
  Locked,
  LockedHandler,
  LockHttpException,
  lockKey,
  LockService,
  LockShutdownError,
  MemoryLockStore,
  RedisLockModule,
} from 'nestjs-redis-lock';
import { attachLocks, RecordingLockService } from 'nestjs-redis-lock/testing';
import { lastValueFrom, Observable, of } from 'rxjs';
import { rejection } from '../nest/support/nest-fixture.js';
import { TestServer } from '../nest/support/test-server.js';
import { deferred } from '../support/wait-for.js';

@Injectable()
class Orders {
  entered = deferred();
  leave = deferred();

  constructor(readonly locks: LockService) {}

  @Locked('order:<userId>:<voucherId>', { wait: 0 })
  async buy(userId: number, voucherId: number): Promise<string> {
    return `${userId} ${voucherId}`;
  }

  @Locked('slow', { wait: 0 })
  async slow(): Promise<void> {
    this.entered.resolve();
    await this.leave.promise;
  }

  @Locked('watch:<id>')
  watch(id: number): Observable<number> {
    return of(id);
  }

  @Locked('list')
  async *list(): AsyncGenerator<number> {
    yield 1;
  }

  @CronLocked('nightly', { minHold: '1m' })
  async nightly(): Promise<string | undefined> {
    return 'ran';
  }

  async byHand(): Promise<void> {
    await this.locks.run(lockKey`stock:${9}`, () => undefined);
  }
}

@Controller()
class Vouchers {
  @Post('vouchers/:id')
  @LockedHandler('voucher:<params.id:int>', { wait: 0 })
  buy(@Param('id') id: string): object {
    return { id };
  }
}

// As the application has it: its Redis is nowhere, and nobody must ask it.
@Module({
  imports: [RedisLockModule.forRoot({ connection: 'redis://127.0.0.1:1', commandTimeout: 100 })],
  providers: [Orders],
  controllers: [Vouchers],
})
class AppModule {}

async function withApp(work: (server: TestServer, locks: RecordingLockService) => Promise<void>): Promise<void> {
  const locks = new RecordingLockService();
  const module = await Test.createTestingModule({ imports: [AppModule] })
    .overrideProvider(LockService)
    .useValue(locks)
    .compile();
  const app = module.createNestApplication({ logger: false });
  await app.listen(0, '127.0.0.1');
  const server = new TestServer(app, await app.getUrl());
  try {
    await work(server, locks);
  } finally {
    server.hangUp();
    await app.close();
  }
}

describe('RecordingLockService', () => {
  test('in the place of LockService → every decorator asks it, and what it asked for is written down', async () => {
    await withApp(async ({ app }, locks) => {
      const orders = app.get(Orders);
      expect(await orders.buy(7, 9)).toBe('7 9');
      expect(await orders.nightly()).toBe('ran');
      expect(await lastValueFrom(orders.watch(5))).toBe(5);
      for await (const item of orders.list()) expect(item).toBe(1);
      await orders.byHand();
      expect(locks.calls).toMatchObject([
        { method: 'acquire', key: 'order:7:9', template: 'order:<>:<>', options: { wait: 0 } },
        { method: 'acquire', key: 'scheduler:nightly', template: 'scheduler:nightly', options: { minHold: '1m' } },
        { method: 'acquire', key: 'watch:5', template: 'watch:<>' },
        { method: 'acquire', key: 'list', template: 'list' },
        { method: 'run', key: 'stock:9', template: 'stock:<>', options: {} },
      ]);
    });
  });

  test('a locked handler → recorded under the key of the request', async () => {
    await withApp(async (server, locks) => {
      expect(await server.post('/vouchers/9')).toMatchObject({ status: 201, json: { id: '9' } });
      expect(locks.calls).toMatchObject([
        { method: 'acquire', key: 'voucher:9', template: 'voucher:<>', options: { wait: 0 } },
      ]);
      const busy = await locks.acquire('voucher:8');
      expect(await server.post('/vouchers/8')).toMatchObject({ status: 429 });
      await busy.release();
      expect(locks.keys).toEqual(['voucher:9', 'voucher:8', 'voucher:8']);
    });
  });

  test('it excludes: a second call is refused, and recorded all the same', async () => {
    await withApp(async ({ app }, locks) => {
      const orders = app.get(Orders);
      const first = orders.slow();
      await orders.entered.promise;
      expect(await rejection(orders.slow())).toBeInstanceOf(LockBusyError);
      orders.leave.resolve();
      await first;
      expect(locks.keys).toEqual(['slow', 'slow']);
    });
  });

  test('it closes with its application', async () => {
    let closed: RecordingLockService | undefined;
    await withApp(async (_server, locks) => void (closed = locks));
    expect(await rejection((closed as RecordingLockService).acquire('order'))).toBeInstanceOf(LockShutdownError);
  });

  test('attachLocks → records the methods of an instance that Nest did not build', async () => {
    await using locks = new RecordingLockService();
    const orders = attachLocks(new Orders(locks), locks);
    await orders.buy(7, 9);
    expect(locks.keys).toEqual(['order:7:9']);
  });

  test('each way to ask → one call each, with the options as they were given', async () => {
    await using locks = new RecordingLockService({ ttl: '20s' });
    await locks.run('a', () => undefined, { wait: '1s' });
    await locks.tryRun(lockKey`b:${1}`, () => undefined);
    await (await locks.acquire('c')).release();
    await (await locks.tryAcquire('d', { fair: true }))?.release();
    await locks.isLocked('e');
    expect(locks.calls).toEqual([
      { method: 'run', key: 'a', template: 'a', options: { wait: '1s' } },
      { method: 'tryRun', key: 'b:1', template: 'b:<>', options: {} },
      { method: 'acquire', key: 'c', template: 'c', options: {} },
      { method: 'tryAcquire', key: 'd', template: 'd', options: { fair: true } },
    ]);
  });

  test('reset → forgets the calls, not the locks; a list that was read before stays as it was', async () => {
    await using locks = new RecordingLockService();
    const lock = await locks.acquire('a');
    const before = locks.calls;
    locks.reset();
    expect([locks.calls, locks.keys, before.length]).toEqual([[], [], 1]);
    expect(await locks.tryAcquire('a')).toBeNull();
    expect(locks.keys).toEqual(['a']);
    await lock.release();
  });

  test('a wrong key → the error of every client, and no call', async () => {
    await using locks = new RecordingLockService();
    expect(await rejection(locks.acquire(''))).toBeInstanceOf(LockArgumentError);
    expect(locks.calls).toEqual([]);
  });

  test('options → the defaults of its locks; one store for two → they exclude each other', async () => {
    const store = new MemoryLockStore();
    await using first = new RecordingLockService({ store, wait: 0 });
    await using second = new RecordingLockService({ store, wait: 0 });
    await first.run('a', async () => {
      expect(await rejection(second.acquire('a'))).toBeInstanceOf(LockBusyError);
    });
    expect([first.keys, second.keys]).toEqual([['a'], ['a']]);
  });

  test('its errors are those that HTTP answers are made of', async () => {
    await using locks = new RecordingLockService();
    await locks.run('a', async () => {
      const error = await rejection(locks.acquire('a', { wait: 0, reentrant: false }));
      expect(new LockHttpException(error as LockBusyError).getStatus()).toBe(429);
    });
  });
});
