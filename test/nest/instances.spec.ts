import { expect, test } from '@jest/globals';
import { Controller, Get, Injectable, Param, Scope } from '@nestjs/common';
import { currentLock, Locked, LockArgumentError, LockBusyError } from 'nestjs-redis-lock';
import { describeWithRedis } from '../support/redis.js';
import { NestFixture, rejection } from './support/nest-fixture.js';

/** The keys that the caller runs under, of these. */
function heldOf(...keys: string[]): string[] {
  return keys.filter((key) => {
    try {
      currentLock(key).assertHeld();
      return true;
    } catch (error) {
      if (error instanceof LockArgumentError) return false;
      throw error;
    }
  });
}

@Injectable()
class Base {
  @Locked('order:<id>', { wait: 0 })
  async buy(id: number): Promise<string[]> {
    return heldOf(`order:${id}`, `child:${id}`);
  }

  async buyThroughThis(id: number): Promise<string[]> {
    return this.buy(id);
  }
}

@Injectable()
class Inherits extends Base {}

@Injectable()
class Overrides extends Base {
  override async buy(orderId: number): Promise<string[]> {
    return ['override', ...heldOf(`order:${orderId}`)];
  }
}

@Injectable()
class OverridesAndCallsSuper extends Base {
  override async buy(id: number): Promise<string[]> {
    return ['override', ...(await super.buy(id))];
  }
}

@Injectable()
class OverridesWithItsOwn extends Base {
  @Locked('child:<id>', { wait: 0 })
  override async buy(id: number): Promise<string[]> {
    return heldOf(`order:${id}`, `child:${id}`);
  }
}

@Injectable()
class OverridesTwice extends Overrides {
  override async buy(id: number): Promise<string[]> {
    return ['second override', ...heldOf(`order:${id}`)];
  }
}

@Injectable()
class InheritsTheOverride extends OverridesAndCallsSuper {}

@Injectable()
class BaseOfTwo {
  @Locked('user:<userId>', { wait: 0 })
  @Locked('order:<id>', { wait: 0 })
  async buy(id: number, userId: number): Promise<string[]> {
    return heldOf(`order:${id}`, `user:${userId}`);
  }
}

@Injectable()
class OverridesTwoLocks extends BaseOfTwo {
  override async buy(id: number, userId: number): Promise<string[]> {
    return ['override', ...heldOf(`order:${id}`, `user:${userId}`)];
  }
}

@Injectable({ scope: Scope.REQUEST })
class PerRequest extends Base {}

@Injectable({ scope: Scope.TRANSIENT })
class Transient extends Overrides {}

@Controller()
class RequestScopedController {
  constructor(
    private readonly perRequest: PerRequest,
    private readonly transient: Transient,
  ) {}

  @Get('per-request/:id')
  async byService(@Param('id') id: string): Promise<string[]> {
    return this.perRequest.buy(Number(id));
  }

  @Get('transient/:id')
  async byTransient(@Param('id') id: string): Promise<string[]> {
    return this.transient.buy(Number(id));
  }

  @Get('controller/:id')
  @Locked('order:<id>', { wait: 0 })
  async itself(@Param('id') id: string): Promise<string[]> {
    return heldOf(`order:${id}`);
  }
}

/** A controller of the application over one of a library. */
abstract class BaseController {
  @Get(':id')
  @Locked('order:<id>', { wait: 0 })
  async get(@Param('id') id: string): Promise<string[]> {
    return heldOf(`order:${id}`);
  }
}

@Controller('inherited')
class InheritedController extends BaseController {}

@Controller('overridden')
class OverriddenController extends BaseController {
  @Get(':id')
  override async get(@Param('id') id: string): Promise<string[]> {
    return ['override', ...heldOf(`order:${id}`)];
  }
}

describeWithRedis('Which instances are locked', () => {
  const fixture = NestFixture.use();

  test.each([
    { what: 'the class itself', type: Base, held: ['order:7'] },
    { what: 'a subclass that inherits', type: Inherits, held: ['order:7'] },
    { what: 'a subclass that overrides', type: Overrides, held: ['override', 'order:7'] },
    { what: 'an override that calls super', type: OverridesAndCallsSuper, held: ['override', 'order:7'] },
    { what: 'an override of an override', type: OverridesTwice, held: ['second override', 'order:7'] },
    { what: 'a subclass that inherits an override', type: InheritsTheOverride, held: ['override', 'order:7'] },
  ])('case 29: $what → locked, also through this.method()', async ({ type, held }) => {
    const service = (await fixture.module({ providers: [type] })).get(type);
    expect(await service.buy(7)).toEqual(held);
    expect(await service.buyThroughThis(7)).toEqual(held);
    expect(await fixture.lockedKeys()).toEqual([]);

    await fixture.lockElsewhere('order:7');
    expect(await rejection(service.buyThroughThis(7))).toBeInstanceOf(LockBusyError);
    expect(await service.buyThroughThis(8)).toEqual(held.map((each) => each.replace('7', '8')));
  });

  test('case 29: an override with a decorator of its own → that lock and no other', async () => {
    const service = (await fixture.module({ providers: [OverridesWithItsOwn] })).get(OverridesWithItsOwn);
    expect(await service.buyThroughThis(7)).toEqual(['child:7']);
    await fixture.lockElsewhere('child:7');
    expect(await rejection(service.buy(7))).toBeInstanceOf(LockBusyError);
  });

  test('case 29: an override with its own decorator that calls an override by super → each has its lock', async () => {
    // Of its own, so that no other test has built the class in the middle before.
    @Injectable()
    class Middle extends Base {
      override async buy(id: number): Promise<string[]> {
        return ['middle', ...heldOf(`order:${id}`)];
      }
    }
    @Injectable()
    class Last extends Middle {
      @Locked('child:<id>', { wait: 0 })
      override async buy(id: number): Promise<string[]> {
        return ['last', ...heldOf(`order:${id}`, `child:${id}`), ...(await super.buy(id))];
      }
    }
    const service = (await fixture.module({ providers: [Last] })).get(Last);
    expect(await service.buy(7)).toEqual(['last', 'child:7', 'middle', 'order:7']);
  });

  test('case 29: an override of a method with two locks → both', async () => {
    const service = (await fixture.module({ providers: [OverridesTwoLocks] })).get(OverridesTwoLocks);
    expect(await service.buy(7, 1)).toEqual(['override', 'order:7', 'user:1']);
  });

  test('case 29: base, subclass and override in one application → none changes what another locks', async () => {
    const app = await fixture.module({ providers: [OverridesTwice, OverridesWithItsOwn, Overrides, Base] });
    const bought = [];
    for (const type of [Base, Overrides, OverridesWithItsOwn, OverridesTwice]) bought.push(await app.get(type).buy(7));
    expect(bought).toEqual([['order:7'], ['override', 'order:7'], ['child:7'], ['second override', 'order:7']]);
  });

  test.each(['per-request', 'transient', 'controller'])(
    'case 29: %s, built for each request → locked, and two requests exclude each other',
    async (path) => {
      const server = await fixture.server({
        controllers: [RequestScopedController],
        providers: [PerRequest, Transient],
      });
      const first = await server.get(`/${path}/7`);
      expect([first.status, first.text]).toEqual([200, expect.stringContaining('order:7')]);
      expect(await fixture.lockedKeys()).toEqual([]);

      await fixture.lockElsewhere('order:7');
      expect((await server.get(`/${path}/7`)).status).toBe(429);
      expect((await server.get(`/${path}/8`)).status).toBe(200);
    },
  );

  test.each([
    { path: 'inherited', held: ['order:7'] },
    { path: 'overridden', held: ['override', 'order:7'] },
  ])('case 29: the route of a controller, $path → locked', async ({ path, held }) => {
    const server = await fixture.server({ controllers: [InheritedController, OverriddenController] });
    expect((await server.get(`/${path}/7`)).json).toEqual(held);
    await fixture.lockElsewhere('order:7');
    expect((await server.get(`/${path}/7`)).status).toBe(429);
  });
});
