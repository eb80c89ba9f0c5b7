import { expect, test } from '@jest/globals';
import {
  Body,
  Controller,
  Get,
  HttpCode,
  Param,
  ParseIntPipe,
  Post,
  SetMetadata,
  UseGuards,
  type CanActivate,
  type ExecutionContext,
  type Type,
} from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { currentLock, Locked } from 'nestjs-redis-lock';
import 'reflect-metadata';
import { describeWithRedis } from '../support/redis.js';
import { NestFixture, PLATFORMS, recordEvents } from './support/nest-fixture.js';

const Role = (role: string): MethodDecorator => SetMetadata('role', role);

class RoleGuard implements CanActivate {
  constructor(private readonly reflector = new Reflector()) {}

  canActivate(context: ExecutionContext): boolean {
    const { headers } = context.switchToHttp().getRequest<{ headers: Record<string, string> }>();
    return headers['x-role'] === this.reflector.get<string>('role', context.getHandler());
  }
}

/** What a handler sees of the lock that it runs under. */
function heldKey(): string {
  const lock = currentLock();
  lock.assertHeld();
  return lock.key;
}

@Controller()
class Above {
  @Locked('order:<id>', { wait: 0 })
  @Get('orders/:id')
  @UseGuards(RoleGuard)
  @Role('buyer')
  async get(@Param('id', ParseIntPipe) id: number): Promise<{ id: number; held: string }> {
    return { id, held: heldKey() };
  }

  @Locked('order:<id>:<dto.voucherId>', { wait: 0 })
  @Post('orders/:id')
  @HttpCode(202)
  async post(@Param('id', ParseIntPipe) id: number, @Body() dto: { voucherId: number }): Promise<{ held: string }> {
    return { held: `${id + dto.voucherId} ${heldKey()}` };
  }
}

@Controller()
class Below {
  @Get('orders/:id')
  @UseGuards(RoleGuard)
  @Role('buyer')
  @Locked('order:<id>', { wait: 0 })
  async get(@Param('id', ParseIntPipe) id: number): Promise<{ id: number; held: string }> {
    return { id, held: heldKey() };
  }

  @Post('orders/:id')
  @HttpCode(202)
  @Locked('order:<id>:<dto.voucherId>', { wait: 0 })
  async post(@Param('id', ParseIntPipe) id: number, @Body() dto: { voucherId: number }): Promise<{ held: string }> {
    return { held: `${id + dto.voucherId} ${heldKey()}` };
  }
}

/** The same without locks: what the others are compared with. */
@Controller()
class Plain {
  @Get('orders/:id')
  @UseGuards(RoleGuard)
  @Role('buyer')
  async get(@Param('id', ParseIntPipe) id: number): Promise<{ id: number; held: string }> {
    return { id, held: '' };
  }

  @Post('orders/:id')
  @HttpCode(202)
  async post(@Param('id', ParseIntPipe) id: number, @Body() dto: { voucherId: number }): Promise<{ held: string }> {
    return { held: `${id + dto.voucherId}` };
  }
}

/** Everything that Nest or anybody else can find about a method. */
function described(type: Type<Above>, name: 'get' | 'post'): unknown {
  const descriptor = Object.getOwnPropertyDescriptor(type.prototype, name);
  const method = type.prototype[name];
  const metadataOf = (keys: unknown[], read: (key: unknown) => unknown): Map<unknown, unknown> =>
    new Map(keys.map((key) => [key, read(key)] as const).sort(([a], [b]) => String(a).localeCompare(String(b))));
  return {
    name: method.name,
    length: method.length,
    // A function expression has a prototype and a method has none; nothing rests on that.
    ownKeys: Reflect.ownKeys(method).filter((key) => key !== 'prototype'),
    flags: { ...descriptor, value: undefined },
    onMethod: metadataOf(Reflect.getMetadataKeys(method), (key) => Reflect.getMetadata(key, method) as unknown),
    onProperty: metadataOf(
      Reflect.getMetadataKeys(type.prototype, name),
      (key) => Reflect.getMetadata(key, type.prototype, name) as unknown,
    ),
    onClass: metadataOf(Reflect.getMetadataKeys(type, name), (key) => Reflect.getMetadata(key, type, name) as unknown),
  };
}

describeWithRedis('@Locked among other decorators of a controller', () => {
  const fixture = NestFixture.use();
  const orders = [
    { order: 'above', type: Above },
    { order: 'below', type: Below },
  ];

  test.each(orders)(
    'case 27: @Locked $order the others → name, length, flags and every metadata key as without',
    ({ type }) => {
      const plain = described(Plain, 'get');
      expect(plain).toMatchObject({ name: 'get', length: 1 });
      expect((plain as { onMethod: Map<unknown, unknown> }).onMethod.size).toBeGreaterThanOrEqual(4);

      expect(described(type, 'get')).toEqual(plain);
      expect(described(type, 'post')).toEqual(described(Plain, 'post'));
    },
  );

  for (const platform of PLATFORMS) {
    test.each(orders)(
      `case 27: @Locked $order @Get and @Post on ${platform} → routed, guarded, piped, and locked`,
      async ({ type }) => {
        const server = await fixture.server({ controllers: [type], platform });
        const buyer = { headers: { 'x-role': 'buyer' } };

        const got = await server.get('/orders/7', buyer);
        expect([got.status, got.json]).toEqual([200, { id: 7, held: 'order:7' }]);
        const posted = await server.post('/orders/7', { voucherId: 2 });
        expect([posted.status, posted.json]).toEqual([202, { held: '9 order:7:2' }]);

        const lock = await fixture.lockElsewhere('order:7');
        expect((await server.get('/orders/7', buyer)).status).toBe(429);
        expect((await server.get('/orders/8', buyer)).status).toBe(200);
        await lock.release();
      },
    );

    test.each(orders)(
      `case 27: @Locked $order @UseGuards and pipes on ${platform} → who is refused takes no lock`,
      async ({ type }) => {
        const server = await fixture.server({ controllers: [type], platform });
        const acquired = recordEvents(server.locks, 'acquired');
        expect((await server.get('/orders/7')).status).toBe(403);
        expect((await server.get('/orders/seven', { headers: { 'x-role': 'buyer' } })).status).toBe(400);
        expect(acquired).toEqual([]);
        // The pipe made a number of it before the key was made.
        expect((await server.get('/orders/007', { headers: { 'x-role': 'buyer' } })).json).toEqual({
          id: 7,
          held: 'order:7',
        });
        expect(acquired).toHaveLength(1);
      },
    );
  }

  test('case 27: two @Locked on one method, with others between → both locks are held', async () => {
    @Controller()
    class Stacked {
      @Locked('user:<userId>', { wait: 0 })
      @Get('users/:userId/orders/:orderId')
      @Locked('order:<orderId>', { wait: 0 })
      async get(@Param('userId') userId: string, @Param('orderId') orderId: string): Promise<string[]> {
        return [currentLock(`user:${userId}`).key, currentLock(`order:${orderId}`).key];
      }
    }
    const server = await fixture.server({ controllers: [Stacked] });
    expect((await server.get('/users/1/orders/2')).json).toEqual(['user:1', 'order:2']);
    for (const key of ['user:1', 'order:2']) {
      const elsewhere = await fixture.lockElsewhere(key);
      expect((await server.get('/users/1/orders/2')).status).toBe(429);
      await elsewhere.release();
    }
    expect([Stacked.prototype.get.name, Stacked.prototype.get.length]).toEqual(['get', 2]);
    await fixture.expectNothingLocked();
  });

  test('case 27: two applications in one process with the same controller → each has its own locks', async () => {
    const shop = await fixture.server({ controllers: [Above], lock: { prefix: `${fixture.prefix}-shop` } });
    const office = await fixture.server({ controllers: [Above], lock: { prefix: `${fixture.prefix}-office` } });
    const [inShop, inOffice] = [recordEvents(shop.locks, 'acquired'), recordEvents(office.locks, 'acquired')];
    expect(shop.locks).not.toBe(office.locks);

    await fixture.lockElsewhere('order:7:2', { prefix: `${fixture.prefix}-shop` });
    expect((await shop.post('/orders/7', { voucherId: 2 })).status).toBe(429);
    expect((await office.post('/orders/7', { voucherId: 2 })).status).toBe(202);
    expect([inShop.length, inOffice.length]).toEqual([0, 1]);

    await office.app.close();
    expect((await shop.post('/orders/7', { voucherId: 3 })).status).toBe(202);
  });
});
