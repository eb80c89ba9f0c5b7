// Compiled, never run: what must and what must not type-check. An expected error that does not come is an error itself.
import type { Observable } from 'rxjs';
import { CronLocked, Locked, lockKey, type LockedOptions, type LockService } from 'nestjs-redis-lock';

declare const anyOptions: LockedOptions;

export class Accepted {
  @Locked('order:<userId>:<dto.voucherId>', { wait: '2s' })
  async template(userId: number, dto: { voucherId: number }): Promise<number> {
    return userId + dto.voucherId;
  }

  @Locked((userId: number) => `order:${userId}`)
  async keyFunction(userId: number, voucherId: string): Promise<string> {
    return voucherId + String(userId);
  }

  @Locked((order: { id: number }) => lockKey`order:${order.id}`, { ttl: '1m' })
  async keyFunctionOfAnEntity(order: { id: number; paid: boolean }): Promise<boolean> {
    return order.paid;
  }

  @Locked((...args: unknown[]) => `all:${args.length}`)
  async restKeyFunction(first: string): Promise<string> {
    return first;
  }

  @Locked(() => 'all')
  async keyFunctionOfNothing(first: string): Promise<string> {
    return first;
  }

  @Locked('all', { onBusy: 'skip' })
  async skipsVoid(): Promise<void> {}

  @Locked('all', { onBusy: 'skip' })
  async skipsOptional(): Promise<number | undefined> {
    return 1;
  }

  @Locked('stream')
  stream(): Observable<number> {
    throw new Error('not called');
  }

  @Locked('items')
  async *items(): AsyncGenerator<number> {
    yield 1;
  }

  @CronLocked('report', { minHold: '1m', maxHold: '30m' })
  async report(): Promise<void> {}
}

export class Refused {
  // @ts-expect-error a plain value leaves nothing to hold a lock for
  @Locked('all')
  plain(): number {
    return 1;
  }

  // @ts-expect-error nor does nothing
  @Locked('all')
  nothing(): void {}

  // @ts-expect-error the key function asks for a string
  @Locked((userId: string) => `order:${userId}`)
  async wrongParameter(userId: number): Promise<number> {
    return userId;
  }

  // @ts-expect-error the key function asks for more than the method has
  @Locked((userId: number, voucherId: number) => `order:${userId}:${voucherId}`)
  async tooFew(userId: number): Promise<number> {
    return userId;
  }

  // @ts-expect-error undefined may come out of a skipped call
  @Locked('all', { onBusy: 'skip' })
  async skipsNumber(): Promise<number> {
    return 1;
  }

  // @ts-expect-error these options may say skip
  @Locked('all', anyOptions)
  async skipsPerhaps(): Promise<number> {
    return 1;
  }

  // @ts-expect-error a scheduled task that is skipped gives undefined
  @CronLocked('report')
  async cron(): Promise<number> {
    return 1;
  }

  // @ts-expect-error there is no such option
  @Locked('all', { tll: '10s' })
  async typo(): Promise<void> {}

  // @ts-expect-error not a duration
  @Locked('all', { ttl: '5 parsecs' })
  async parsecs(): Promise<void> {}

  // @ts-expect-error a field is no method
  @Locked('all')
  field = 1;
}

export async function values(locks: LockService): Promise<number> {
  const done = await locks.tryRun('k', () => 1);
  // @ts-expect-error the value is there only if the work ran
  void done.value;
  return done.ran ? done.value : done.reason.length;
}
