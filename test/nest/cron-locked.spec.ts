import { expect, test } from '@jest/globals';
import { Injectable, Module, type INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Cron, ScheduleModule, SchedulerRegistry } from '@nestjs/schedule';
import { CronLocked, currentLock, LockArgumentError, LockService, type LockEvents } from 'nestjs-redis-lock';
import { freePort } from '../../scripts/lib/servers.mjs';
import { describeWithRedis } from '../support/redis.js';
import { deferred, waitFor } from '../support/wait-for.js';
import { NestFixture, recordEvents, thrownBy } from './support/nest-fixture.js';

const MIN_HOLD = 500;

/** What a node did at a tick: timers are late, never early, so the second tells which tick it was. */
interface Fired {
  tick: number;
  lateMs: number;
  ran: boolean;
}

function firedNow(ran: boolean): Fired {
  const now = Date.now();
  return { tick: Math.floor(now / 1000), lateMs: now % 1000, ran };
}

@Injectable()
class EverySecond {
  readonly fired: Fired[] = [];

  constructor(locks: LockService) {
    locks.events.on('skipped', ({ key, code }) => {
      if (key === 'scheduler:every-second' && code === 'LOCK_BUSY') this.fired.push(firedNow(false));
    });
  }

  @Cron('* * * * * *')
  @CronLocked('every-second', { minHold: MIN_HOLD })
  async run(): Promise<void> {
    this.fired.push(firedNow(true));
  }
}

@Injectable()
class ByHand {
  runs = 0;
  entered = deferred();
  leave = deferred();

  @Cron('0 0 29 2 1', { name: 'report' })
  @CronLocked('report', { minHold: '1m', maxHold: '30m' })
  async report(): Promise<string | undefined> {
    this.runs++;
    this.entered.resolve();
    await this.leave.promise;
    return currentLock().key;
  }

  @CronLocked('failing')
  async failing(): Promise<void> {
    throw new Error('the report broke');
  }
}

describeWithRedis('@CronLocked', () => {
  const fixture = NestFixture.use();

  /** A node of its own: a context with its own client, as a replica has. */
  async function node(lock: Parameters<typeof fixture.lockModule>[0] = {}): Promise<INestApplicationContext> {
    @Module({ imports: [ScheduleModule.forRoot(), fixture.lockModule(lock)], providers: [EverySecond, ByHand] })
    class NodeModule {}
    const context = await NestFactory.createApplicationContext(NodeModule, { logger: fixture.logs });
    fixture.closeLater(() => context.close());
    return context;
  }

  test('three nodes, every second → one run a tick, the others skip with an event and without an error line', async () => {
    const nodes = [await node(), await node(), await node()];
    const fired = (): Fired[] => nodes.flatMap((each) => each.get(EverySecond).fired);
    const at = (tick: number): Fired[] => fired().filter((each) => each.tick === tick);
    // Where the machine was so slow that a node asked when minHold was nearly over, held into the next tick, or fired a
    // second late, the tick says nothing.
    const inTime = (tick: number): boolean => at(tick).every(({ lateMs }) => lateMs < MIN_HOLD - 100);
    const counts = (tick: number): boolean => at(tick).length === 3 && inTime(tick) && inTime(tick - 1);
    const ticks = await waitFor(
      () => {
        const complete = [...new Set(fired().map(({ tick }) => tick))].filter((tick) => tick < firedNow(false).tick);
        const good = complete.filter(counts);
        return good.length >= 3 && good;
      },
      { timeoutMs: 50_000, what: 'three ticks at which each of the three nodes ran or skipped' },
    );

    for (const tick of ticks) {
      const ran = at(tick).filter((each) => each.ran);
      expect({ tick, ran: ran.length, skipped: at(tick).length - ran.length }).toEqual({ tick, ran: 1, skipped: 2 });
    }
    expect(fixture.logs.of('error')).toEqual([]);
    expect(fixture.logs.of('warn')).toEqual([]);
  });

  test('while one node runs → another skips at once, with the reason; its lock stays for minHold', async () => {
    const [first, second] = [await node(), await node()];
    const skipped = recordEvents(second.get(LockService), 'skipped');
    const job = first.get(ByHand);
    const reporting = job.report();
    await job.entered.promise;
    expect(await second.get(ByHand).report()).toBeUndefined();
    expect(skipped.filter(isReport)).toMatchObject([
      { key: 'scheduler:report', template: 'scheduler:report', code: 'LOCK_BUSY' },
    ]);

    job.leave.resolve();
    expect(await reporting).toBe('scheduler:report');
    // The work is over, and a node whose clock is late still skips.
    expect(await second.get(ByHand).report()).toBeUndefined();
    expect(second.get(ByHand).runs).toBe(0);
    expect(await fixture.redis.pttl(fixture.redisKey('scheduler:report'))).toBeGreaterThan(30_000);
    expect(fixture.logs.of('error')).toEqual([]);
  });

  test('Redis out of reach at a tick → skipped, not run, and said in a warning that names the method', async () => {
    const app = await node({ connection: `redis://127.0.0.1:${await freePort()}`, commandTimeout: 100 });
    const skipped = recordEvents(app.get(LockService), 'skipped');
    await app.get(SchedulerRegistry).getCronJob('report').fireOnTick();
    await waitFor(() => skipped.some(isReport));
    expect(skipped.find(isReport)).toMatchObject({ key: 'scheduler:report', code: 'LOCK_UNAVAILABLE' });
    // The one that fires by itself does the same.
    await waitFor(() => skipped.some(({ key }) => key === 'scheduler:every-second'));

    expect([app.get(ByHand).runs, app.get(EverySecond).fired.length]).toEqual([0, 0]);
    expect(fixture.logs.of('warn').join()).toMatch(/ByHand\.report was skipped.*another node/);
    expect(fixture.logs.of('error')).toEqual([]);
  });

  test('shutting down at a tick → skipped, without an error line', async () => {
    const app = await node();
    const skipped = recordEvents(app.get(LockService), 'skipped');
    await app.close();
    expect(await app.get(ByHand).report()).toBeUndefined();
    expect(skipped.filter(isReport)).toMatchObject([{ code: 'LOCK_SHUTDOWN' }]);
    expect(fixture.logs.of('error')).toEqual([]);
  });

  test('what the job itself throws → passes, so that the scheduler logs it, and the lock is released', async () => {
    const app = await node();
    await expect(app.get(ByHand).failing()).rejects.toThrow('the report broke');
    expect(await fixture.isLocked('scheduler:failing')).toBe(false);
  });

  test.each<[string, string, object, RegExp]>([
    ['an empty name', '', {}, /must not be empty/],
    ['a bad duration', 'x', { minHold: '5 parsecs' }, /"minHold"/],
    ['minHold above maxHold', 'x', { minHold: '2m', maxHold: '1m' }, /"minHold".*"maxHold"/],
    ['an unknown option', 'x', { lockAtMostFor: '1m' }, /"lockAtMostFor"/],
  ])('a bad option, %s → the class cannot be defined', (_what, name, options, message) => {
    const error = thrownBy(() => CronLocked(name, options)({}, 'x', { value: async () => undefined }));
    expect(error).toBeInstanceOf(LockArgumentError);
    expect((error as Error).message).toMatch(message);
  });
});

function isReport({ key }: LockEvents['skipped'][0]): boolean {
  return key === 'scheduler:report';
}
