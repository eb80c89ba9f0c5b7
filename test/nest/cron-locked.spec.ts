import { expect, test } from '@jest/globals';
import { Injectable, Module, type INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Cron, ScheduleModule, SchedulerRegistry } from '@nestjs/schedule';
import { CronLocked, currentLock, LockArgumentError, LockService, type LockEvents } from 'nestjs-redis-lock';
import { freePort } from '../../scripts/lib/servers.mjs';
import { describeWithRedis } from '../support/redis.js';
import { deferred, waitFor } from '../support/wait-for.js';
import { NestFixture, recordEvents, thrownBy } from './support/nest-fixture.js';

/** When a tick of a cron job fired, in whole seconds: timers are late, never early. */
const tickNow = (): number => Math.floor(Date.now() / 1000);

@Injectable()
class EverySecond {
  readonly ticks: number[] = [];

  @Cron('* * * * * *')
  @CronLocked('every-second', { minHold: 500 })
  async run(): Promise<void> {
    this.ticks.push(tickNow());
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
    const runs = nodes.map((each) => each.get(EverySecond).ticks);
    const skipped = nodes.map((each) => {
      const ticks: number[] = [];
      each.get(LockService).events.on('skipped', ({ key, code }) => {
        if (key === 'scheduler:every-second' && code === 'LOCK_BUSY') ticks.push(tickNow());
      });
      return ticks;
    });
    const firedBy = (tick: number): number => [...runs, ...skipped].filter((ticks) => ticks.includes(tick)).length;
    const first = tickNow() + 1;
    const ticks = [first, first + 1, first + 2];
    await waitFor(() => tickNow() > first + 2 && ticks.every((tick) => firedBy(tick) === 3), {
      timeoutMs: 30_000,
      what: 'three ticks in which each of the three nodes ran or skipped',
    });

    for (const tick of ticks) {
      expect([tick, runs.flat().filter((ran) => ran === tick).length]).toEqual([tick, 1]);
      expect([tick, skipped.flat().filter((left) => left === tick).length]).toEqual([tick, 2]);
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

    expect([app.get(ByHand).runs, app.get(EverySecond).ticks.length]).toEqual([0, 0]);
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
