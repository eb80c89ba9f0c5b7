import { expect, test } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { Locked, LockArgumentError, LockBusyError, LockLostError } from 'nestjs-redis-lock';
import { firstValueFrom, of, type Observable } from 'rxjs';
import { describeWithRedis } from '../support/redis.js';
import { deferred } from '../support/wait-for.js';
import { NestFixture, rejection, thrownBy } from './support/nest-fixture.js';

/** A thenable that is no Promise, as query builders are. */
function thenable(value: string): PromiseLike<string> {
  const promise = Promise.resolve(value);
  return Object.fromEntries(new Map([['then', promise.then.bind(promise)]])) as unknown as PromiseLike<string>;
}

async function* rows(): AsyncGenerator<number> {
  yield 1;
}

@Injectable()
class Service {
  leave = deferred();
  entered = deferred();
  /** What the untyped method returns. */
  result: unknown;

  @Locked('skip', { wait: 0, onBusy: 'skip' })
  async skips(): Promise<string | undefined> {
    return 'ran';
  }

  @Locked('skip', { wait: 50, onBusy: 'skip' })
  async skipsAfterWaiting(): Promise<string | undefined> {
    return 'ran';
  }

  @Locked('thenable')
  thenable(): PromiseLike<string> {
    return thenable('value');
  }

  /** Its type says nothing, as in JavaScript or behind a generic. */
  @Locked('untyped')
  untyped(): Promise<unknown> {
    return this.result as Promise<unknown>;
  }

  @Locked('untyped', { returns: 'observable' })
  saidToBeObservable(): Observable<unknown> {
    return this.result as Observable<unknown>;
  }

  @Locked('untyped', { returns: 'iterable' })
  saidToBeIterable(): AsyncIterable<unknown> {
    return this.result as AsyncIterable<unknown>;
  }

  @Locked('untyped')
  throwsAtOnce(): Promise<never> {
    throw new TypeError('at once');
  }

  @Locked('lost', { onLost: 'warn' })
  async warns(): Promise<string> {
    this.entered.resolve();
    await this.leave.promise;
    return 'result';
  }

  @Locked('lost')
  async loses(): Promise<string> {
    this.entered.resolve();
    await this.leave.promise;
    return 'result';
  }
}

describeWithRedis('What comes out of a locked method', () => {
  const fixture = NestFixture.use();
  const start = async (): Promise<Service> => (await fixture.module({ providers: [Service] })).get(Service);

  test("onBusy: 'skip' → undefined instead of an error, and the method does not run", async () => {
    const service = await start();
    expect(await service.skips()).toBe('ran');
    await fixture.lockElsewhere('skip');
    expect(await service.skips()).toBeUndefined();
    expect(await service.skipsAfterWaiting()).toBeUndefined();
  });

  test("onBusy: 'skip' → only a lock that is held is skipped, every other error stays one", async () => {
    const app = await fixture.module({
      providers: [Service],
      lock: { connection: 'redis://127.0.0.1:1', commandTimeout: 50 },
    });
    expect(await rejection(app.get(Service).skips())).toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    await app.close();
    expect(await rejection(app.get(Service).skips())).toMatchObject({ code: 'LOCK_SHUTDOWN' });
  });

  test('a thenable that is no Promise → its value', async () => {
    expect(await (await start()).thenable()).toBe('value');
    await fixture.expectNothingLocked();
  });

  test('a method that throws before it returns → a rejection, and the lock is released', async () => {
    const service = await start();
    const calling = service.throwsAtOnce();
    expect(await rejection(calling)).toEqual(new TypeError('at once'));
    await fixture.expectNothingLocked();
  });

  test.each<[string, unknown, RegExp]>([
    ['an Observable', of(1), /an Observable; set the option returns: 'observable'/],
    ['an async iterable', rows(), /an async iterable; set the option returns: 'iterable'/],
    ['a plain value', 7, /a plain value.*make the method async/],
    ['nothing', undefined, /a plain value.*make the method async/],
  ])('%s out of a method taken for a promise → an error that says what to do', async (_what, result, message) => {
    const service = await start();
    service.result = result;
    const error = await rejection(service.untyped());
    expect(error).toBeInstanceOf(LockArgumentError);
    expect((error as Error).message).toMatch(/^Service\.untyped is locked as a method that returns a promise/);
    expect((error as Error).message).toMatch(message);
    await fixture.expectNothingLocked();
  });

  test.each<[string, unknown]>([
    ['a promise', Promise.resolve(1)],
    ['a plain value', 7],
  ])('%s out of a method that was said to return something else → the same', async (what, result) => {
    const service = await start();
    service.result = result;
    const errors = [
      await rejection(firstValueFrom(service.saidToBeObservable())),
      await rejection(service.saidToBeIterable()[Symbol.asyncIterator]().next()),
    ];
    for (const error of errors) {
      expect(error).toBeInstanceOf(LockArgumentError);
      expect((error as Error).message).toMatch(new RegExp(`returns an .*but it returned ${what}`));
    }
    await fixture.expectNothingLocked();
  });

  test.each<['loses' | 'warns', (outcome: Promise<string>) => Promise<unknown>, unknown]>([
    ['loses', rejection, expect.any(LockLostError)],
    ['warns', async (outcome) => ({ result: await outcome }), expect.any(Object)],
  ])(
    'lost while the method ran, %s → the error carries its result, or onLost: warn returns it',
    async (method, settled, kind) => {
      const service = await start();
      const outcome = settled(service[method]());
      await service.entered.promise;
      await fixture.redis.del(fixture.redisKey('lost'));
      service.leave.resolve();
      expect(await outcome).toEqual(kind);
      expect(await outcome).toMatchObject({ result: 'result' });
      expect(fixture.logs.of('warn').join()).toContain('Lock "lost"');
    },
  );

  test.each<[string, object, RegExp]>([
    ['a duration', { ttl: '5 parsecs' }, /"ttl"/],
    ['an unknown option', { tll: '5s' }, /there is no option "tll"/],
    ['onBusy', { onBusy: 'wait' }, /"onBusy" is 'wait'/],
    ['returns', { returns: 'stream' }, /"returns" is 'stream'/],
    ['a signal', { signal: AbortSignal.abort() }, /"signal".*use LockService/],
    ['no object', 5 as never, /must be an object/],
  ])('a bad option: %s → the class cannot be defined, and the message names it', (_what, options, message) => {
    const error = thrownBy(() => Locked('x', options)({}, 'x', { value: async () => undefined }));
    expect(error).toBeInstanceOf(LockArgumentError);
    expect((error as Error).message).toMatch(message);
    expect((error as Error).message).toMatch(/@Locked on Object\.x/);
  });

  test('over a static method, a getter or a property → an error that names the member', () => {
    const decorate = Locked('x') as (target: object, name: string, descriptor?: PropertyDescriptor) => void;
    for (const wrong of [
      () => decorate(Service, 'build', { value: () => undefined }),
      () => decorate(Service.prototype, 'build', { get: () => 1 }),
      () => decorate(Service.prototype, 'build'),
    ]) {
      const error = thrownBy(wrong);
      expect(error).toBeInstanceOf(LockArgumentError);
      expect(error).not.toBeInstanceOf(LockBusyError);
      expect((error as Error).message).toMatch(/@Locked on Service\.build/);
    }
  });
});
