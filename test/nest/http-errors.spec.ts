import { expect, test } from '@jest/globals';
import {
  Catch,
  Controller,
  Get,
  HttpException,
  Injectable,
  NotFoundException,
  Param,
  type ArgumentsHost,
  type ExceptionFilter,
  type INestApplication,
} from '@nestjs/common';
import {
  isLockError,
  Locked,
  LockedHandler,
  LockHttpException,
  LockLostError,
  LockService,
  type LockError,
} from 'nestjs-redis-lock';
import { freePort } from '../../scripts/lib/servers.mjs';
import { describeWithRedis } from '../support/redis.js';
import { deferred } from '../support/wait-for.js';
import { locksOf, NestFixture, PLATFORMS, rejection, type ServerParts } from './support/nest-fixture.js';

const notFound = new NotFoundException('no such voucher');

@Injectable()
class Vouchers {
  leave = deferred();
  entered = deferred();

  @Locked('voucher:<id>', { wait: 0 })
  async busy(id: string): Promise<string> {
    return id;
  }

  @Locked('voucher:<id>', { wait: 1_100 })
  async patient(id: string): Promise<string> {
    return id;
  }

  @Locked('voucher:<id>')
  async missing(id: string): Promise<string> {
    throw id === '7' ? notFound : new Error('unexpected');
  }

  @Locked('voucher:<0.nothing>')
  async badArgument(id: string): Promise<string> {
    return id;
  }

  @Locked('voucher:<id>')
  async holds(id: string): Promise<string> {
    this.entered.resolve();
    await this.leave.promise;
    return id;
  }
}

@Controller()
class VoucherController {
  constructor(
    private readonly vouchers: Vouchers,
    private readonly locks: LockService,
  ) {}

  @Get(':method/:id')
  async call(@Param('method') method: string, @Param('id') id: string): Promise<string> {
    if (method === 'aborted') {
      await this.locks.run(`voucher:${id}`, () => id, { signal: AbortSignal.abort() });
    }
    return this.vouchers[method as 'busy'](id);
  }

  @Get('handler/:id/:nothing')
  @LockedHandler('voucher:<params.id:int>', { wait: 0 })
  async handler(): Promise<string> {
    return 'handled';
  }
}

/** What many applications have: it is asked before any filter of a module. */
@Catch()
class CatchEverything implements ExceptionFilter {
  readonly caught: unknown[] = [];

  catch(exception: unknown, host: ArgumentsHost): void {
    this.caught.push(exception);
    const status = exception instanceof HttpException ? exception.getStatus() : 500;
    const body = exception instanceof HttpException ? exception.getResponse() : { statusCode: 500 };
    const response = host.switchToHttp().getResponse<{ status(code: number): { send(body: unknown): void } }>();
    response.status(status).send(body);
  }
}

describeWithRedis('Errors of locks as HTTP answers', () => {
  const fixture = NestFixture.use();

  for (const platform of PLATFORMS) {
    const start = async (parts: Partial<ServerParts> = {}) =>
      fixture.server({ controllers: [VoucherController], providers: [Vouchers], platform, ...parts });

    test(`busy and timed out on ${platform} → 429, Retry-After on a timeout, and never the key`, async () => {
      const server = await start();
      await fixture.lockElsewhere('voucher:7');
      for (const route of ['busy/7', 'handler/7/x']) {
        const busy = await server.get(`/${route}`);
        expect([busy.status, busy.json]).toEqual([
          429,
          { statusCode: 429, error: 'LOCK_BUSY', message: 'System busy, please try later' },
        ]);
        expect(busy.headers.get('retry-after')).toBeNull();
      }
      const late = await server.get('/patient/7');
      expect([late.status, late.json]).toEqual([
        429,
        { statusCode: 429, error: 'LOCK_TIMEOUT', message: 'System busy, please try later' },
      ]);
      expect(late.headers.get('retry-after')).toMatch(/^[2-9]$/);
      expect(late.text).not.toContain('voucher');
    });

    test(`Redis out of reach on ${platform} → 503, and never the key or the address`, async () => {
      const port = await freePort();
      const server = await start({
        lock: { connection: `redis://127.0.0.1:${port}`, commandTimeout: 100, wait: 200 },
      });
      for (const route of ['busy/7', 'patient/7', 'missing/7', 'handler/7/x']) {
        const { status, json, text } = await server.get(`/${route}`);
        expect([route, status, json]).toEqual([
          route,
          503,
          { statusCode: 503, error: 'LOCK_UNAVAILABLE', message: 'Service unavailable, please try later' },
        ]);
        expect(text).not.toMatch(new RegExp(`voucher:|${port}`));
      }
    });

    test(`a bad value on ${platform} → 400 when it came from the request, else 500`, async () => {
      const server = await start();
      const fromRequest = await server.get('/handler/07/x');
      expect([fromRequest.status, fromRequest.json]).toEqual([
        400,
        { statusCode: 400, error: 'LOCK_ARGUMENT', message: expect.stringContaining('params.id:int') },
      ]);
      const ours = await server.get('/badArgument/7');
      expect([ours.status, ours.json]).toEqual([500, { statusCode: 500, message: 'Internal server error' }]);
      expect(fixture.logs.of('error').join()).toContain('Vouchers.badArgument');
    });

    test(`lost while the handler ran on ${platform} → 500, logged like every unexpected error`, async () => {
      const server = await start();
      const vouchers = server.app.get(Vouchers);
      const answer = server.get('/holds/7');
      await vouchers.entered.promise;
      await fixture.redis.del(fixture.redisKey('voucher:7'));
      vouchers.leave.resolve();
      expect([(await answer).status, (await answer).json]).toEqual([
        500,
        { statusCode: 500, message: 'Internal server error' },
      ]);
      expect(fixture.logs.of('error').join()).toMatch(/Lock "voucher:7".*was lost/);
    });

    test(`case 30: NotFoundException in a locked method on ${platform} → 404, and the filter gets the same object`, async () => {
      const filter = new CatchEverything();
      const server = await start({ configure: (app) => void app.useGlobalFilters(filter) });
      const { status, json } = await server.get('/missing/7');
      expect([status, json]).toEqual([404, { statusCode: 404, error: 'Not Found', message: 'no such voucher' }]);
      expect(filter.caught).toHaveLength(1);
      expect(filter.caught[0]).toBe(notFound);
      await fixture.expectNothingLocked();
    });

    test(`a catch-all filter on ${platform} → gets an HttpException with the status, and the LockError as its cause`, async () => {
      const filter = new CatchEverything();
      const server = await start({ configure: (app) => void app.useGlobalFilters(filter) });
      await fixture.lockElsewhere('voucher:7');
      expect((await server.get('/busy/7')).status).toBe(429);
      expect((await server.get('/handler/x/x')).status).toBe(400);
      expect((await server.get('/aborted/7')).status).toBe(499);
      expect((await server.get('/badArgument/7')).status).toBe(500);
      const [busy, bad, aborted, ours] = filter.caught as [HttpException, HttpException, HttpException, LockError];
      expect([busy, bad, aborted].every((exception) => exception instanceof LockHttpException)).toBe(true);
      expect([busy, bad, aborted].map(({ cause }) => (cause as LockError).code)).toEqual([
        'LOCK_BUSY',
        'LOCK_ARGUMENT',
        'LOCK_ABORTED',
      ]);
      expect(ours).toMatchObject({ code: 'LOCK_ARGUMENT', statusCode: 500 });
    });

    test(`http: false on ${platform} → the errors pass as they are`, async () => {
      const filter = new CatchEverything();
      const configure = (app: INestApplication): void => void app.useGlobalFilters(filter);
      const server = await start({ configure, lock: { http: false } });
      await fixture.lockElsewhere('voucher:7');
      expect((await server.get('/busy/7')).status).toBe(500);
      expect((await server.get('/handler/7/x')).status).toBe(500);
      expect(filter.caught.map((error) => isLockError(error) && error.code)).toEqual(['LOCK_BUSY', 'LOCK_BUSY']);
    });

    test(`shutting down on ${platform} → 503 for what is new`, async () => {
      const server = await start({ lock: { shutdown: { drain: '20s' } } });
      const vouchers = server.app.get(Vouchers);
      const running = server.get('/holds/7');
      await vouchers.entered.promise;
      const draining = server.locks.drain();
      const { status, json } = await server.get('/busy/8');
      expect([status, json]).toEqual([
        503,
        { statusCode: 503, error: 'LOCK_SHUTDOWN', message: 'Service unavailable, please try later' },
      ]);
      vouchers.leave.resolve();
      expect((await running).status).toBe(200);
      await draining;
    });
  }

  test('outside of HTTP → the errors pass as they are', async () => {
    const app = await fixture.module({ providers: [Vouchers] });
    await fixture.lockElsewhere('voucher:7');
    expect(await rejection(app.get(Vouchers).busy('7'))).toMatchObject({ code: 'LOCK_BUSY', key: 'voucher:7' });
    expect(await rejection(app.get(Vouchers).badArgument('7'))).toMatchObject({ code: 'LOCK_ARGUMENT' });
    expect(await rejection(app.get(Vouchers).missing('8'))).toEqual(new Error('unexpected'));

    const holding = rejection(app.get(Vouchers).holds('9'));
    await app.get(Vouchers).entered.promise;
    await fixture.redis.del(fixture.redisKey('voucher:9'));
    app.get(Vouchers).leave.resolve();
    expect(await holding).toBeInstanceOf(LockLostError);
    expect(locksOf(app)).toBeInstanceOf(LockService);
  });

  test('case 30: what a locked method throws → the same object reaches its caller, also no Error', async () => {
    @Injectable()
    class Throws {
      @Locked('x')
      async throws(what: unknown): Promise<never> {
        throw what;
      }
    }
    const service = (await fixture.module({ providers: [Throws] })).get(Throws);
    for (const what of [notFound, new TypeError('x'), 'a text', undefined, 0]) {
      expect(await rejection(service.throws(what))).toBe(what);
    }
    await fixture.expectNothingLocked();
  });
});
