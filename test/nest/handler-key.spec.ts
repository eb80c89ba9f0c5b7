import { expect, test } from '@jest/globals';
import {
  Controller,
  Get,
  Injectable,
  Param,
  ParseIntPipe,
  Post,
  UseGuards,
  type CanActivate,
  type ExecutionContext,
} from '@nestjs/common';
import { currentLock, LockArgumentError, LockedHandler } from 'nestjs-redis-lock';
import { describeWithRedis } from '../support/redis.js';
import { NestFixture, PLATFORMS, recordEvents, thrownBy } from './support/nest-fixture.js';

/** Puts a user into the request, as guards do. */
class AuthGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const request = context.switchToHttp().getRequest<{ headers: Record<string, string>; user?: object }>();
    if (request.headers['x-user-id']) request.user = { id: Number(request.headers['x-user-id']) };
    return true;
  }
}

@Injectable()
class Vouchers {
  readonly held: string[] = [];
  /** What happens under the lock. */
  during = async (): Promise<void> => {};

  async buy(): Promise<{ held: string }> {
    const held = currentLock().key;
    this.held.push(held);
    await this.during();
    return { held };
  }
}

@Controller()
class VoucherController {
  constructor(private readonly vouchers: Vouchers) {}

  @Post('vouchers/:voucherId')
  @LockedHandler('voucher:<params.voucherId:int>', { wait: 0 })
  async byParam(): Promise<object> {
    return this.vouchers.buy();
  }

  @Get('vouchers')
  @LockedHandler('voucher:<query.voucherId:int>', { wait: 0 })
  async byQuery(): Promise<object> {
    return this.vouchers.buy();
  }

  @Post('vouchers')
  @LockedHandler('voucher:<body.order.voucherId:int>', { wait: 0 })
  async byBody(): Promise<object> {
    return this.vouchers.buy();
  }

  @Get('tenant')
  @LockedHandler('tenant:<headers.x-tenant>', { wait: 0 })
  async byHeader(): Promise<object> {
    return this.vouchers.buy();
  }

  @LockedHandler('order:<user.id>:<params.name>:<query.page>', { wait: 0 })
  @UseGuards(AuthGuard)
  @Get('mine/:name')
  async byUser(): Promise<object> {
    return this.vouchers.buy();
  }

  @Post('piped/:voucherId')
  @LockedHandler('voucher:<params.voucherId>', { wait: 0 })
  async piped(@Param('voucherId', ParseIntPipe) voucherId: number): Promise<object> {
    return { voucherId, ...(await this.vouchers.buy()) };
  }
}

const RAW = [
  '09', '+9', ' 9', '9 ', '9.0', '9e0', '0x9', '-0', '９', 'x[]=1', '{"a":1}', 'NaN', 'null', 'true', '9,9', '9\n',
]; // prettier-ignore

describeWithRedis('The key of @LockedHandler', () => {
  const fixture = NestFixture.use();

  for (const platform of PLATFORMS) {
    const start = async () => {
      const server = await fixture.server({ controllers: [VoucherController], providers: [Vouchers], platform });
      return { server, vouchers: server.app.get(Vouchers), acquired: recordEvents(server.locks, 'acquired') };
    };

    test(`case 53: <params.voucherId:int> on ${platform} → one lock for 9, 400 for what is no canonical integer`, async () => {
      const { server, vouchers, acquired } = await start();
      const answer = await server.post('/vouchers/9');
      expect([answer.status, answer.json]).toEqual([201, { held: 'voucher:9' }]);
      expect((await server.post('/vouchers/-9')).json).toEqual({ held: 'voucher:-9' });

      const answers = await Promise.all(RAW.map(async (raw) => server.post(`/vouchers/${encodeURIComponent(raw)}`)));
      expect(answers.map(({ status }) => status)).toEqual(RAW.map(() => 400));
      expect(vouchers.held).toEqual(['voucher:9', 'voucher:-9']);
      expect(acquired).toHaveLength(2);

      vouchers.during = async () => {
        expect(await fixture.lockedKeys()).toEqual(['voucher:9']);
        expect((await server.post('/vouchers/9')).status).toBe(429);
        expect((await server.get('/vouchers?voucherId=9')).status).toBe(429);
      };
      expect((await server.post('/vouchers/9')).status).toBe(201);
    });

    test(`case 53: <query.voucherId:int> on ${platform} → one lock for 9, 400 for the rest`, async () => {
      const { server, vouchers } = await start();
      expect((await server.get('/vouchers?voucherId=9')).json).toEqual({ held: 'voucher:9' });
      const bad = [
        ...RAW.map((raw) => `voucherId=${encodeURIComponent(raw)}`),
        'voucherId[]=1',
        'voucherId[a]=1',
        'voucherId=9&voucherId=9',
        'x[]=1',
        '',
        'voucherId',
      ];
      const answers = await Promise.all(bad.map(async (query) => server.get(`/vouchers?${query}`)));
      expect(answers.map(({ status }) => status)).toEqual(bad.map(() => 400));
      expect(vouchers.held).toEqual(['voucher:9']);
    });

    test(`case 53: <body.order.voucherId:int> on ${platform} → one lock for 9 and "9", 400 for the rest`, async () => {
      const { server, vouchers } = await start();
      for (const voucherId of [9, '9']) {
        expect((await server.post('/vouchers', { order: { voucherId } })).json).toEqual({ held: 'voucher:9' });
      }
      const bad = [...RAW, 9.5, 1e21, 2 ** 53, [9], { a: 1 }, null, true, [], {}].map((voucherId) => ({
        order: { voucherId },
      }));
      const bodies = [...bad, {}, [], { order: null }, { order: 9 }, { order: '9' }];
      const answers = await Promise.all(bodies.map(async (body) => server.post('/vouchers', body)));
      expect(answers.map(({ status }) => status)).toEqual(bodies.map(() => 400));
      expect(answers.every(({ text }) => text.includes('body.order.voucherId:int'))).toBe(true);
      expect(vouchers.held).toEqual(['voucher:9', 'voucher:9']);
    });

    test(`case 53: no body at all on ${platform} → 400`, async () => {
      const { server } = await start();
      expect((await server.get('/vouchers', { method: 'POST' })).status).toBe(400);
    });

    test(`user, params, query and headers on ${platform} → the raw values, each a key of its own`, async () => {
      const { server } = await start();
      const mine = await server.get('/mine/a%3Ab?page=2', { headers: { 'x-user-id': '7' } });
      expect(mine.json).toEqual({ held: 'order:7:a%3Ab:2' });
      expect((await server.get('/tenant', { headers: { 'X-Tenant': 'acme' } })).json).toEqual({ held: 'tenant:acme' });
      expect((await server.get('/tenant')).status).toBe(400);
    });

    test(`a user that no guard has set on ${platform} → 500, because the request is not to blame`, async () => {
      const { server, vouchers } = await start();
      expect((await server.get('/mine/a?page=2')).status).toBe(500);
      expect(vouchers.held).toEqual([]);
      expect(fixture.logs.of('error').join()).toMatch(/VoucherController\.byUser.*<user\.id>.*undefined/);
    });

    test(`without :int on ${platform} → 9 and 09 are two keys, as the docs say; the key comes before the pipes`, async () => {
      const { server, acquired } = await start();
      expect((await server.post('/piped/09')).json).toEqual({ voucherId: 9, held: 'voucher:09' });
      expect((await server.post('/piped/nine')).status).toBe(400);
      expect(acquired.map(({ key }) => key)).toEqual(['voucher:09', 'voucher:nine']);
      await fixture.expectNothingLocked();
    });
  }

  test.each([
    ['a root that no request has', 'order:<session.id>', /<session\.id>.*user, params, query, body, headers/],
    ['no placeholder', 'order:<>', /@LockedHandler on Bad\.get/],
    ['an open bracket', 'order:<params.id', /@LockedHandler on Bad\.get/],
    ['another type', 'order:<params.id:uuid>', /":int" is the only one/],
  ])('%s → the class cannot be defined', (_what, key, message) => {
    const error = thrownBy(() => {
      class Bad {
        @Get()
        @LockedHandler(key)
        async get(): Promise<void> {}
      }
      return Bad;
    });
    expect(error).toBeInstanceOf(LockArgumentError);
    expect((error as Error).message).toMatch(message);
  });

  test('a bad option → the class cannot be defined, and the option is named', () => {
    for (const options of [{ ttl: -1 }, { wait: '5 parsecs' as never }, { signal: AbortSignal.abort() } as never]) {
      const error = thrownBy(() => {
        class Bad {
          @LockedHandler('order:<params.id>', options)
          async get(): Promise<void> {}
        }
        return Bad;
      });
      expect(error).toBeInstanceOf(LockArgumentError);
      expect((error as Error).message).toMatch(new RegExp(`@LockedHandler on Bad.get.*"${Object.keys(options)[0]}"`));
    }
  });
});
