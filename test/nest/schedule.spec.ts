import { expect, test } from '@jest/globals';
import { Injectable, type ModuleMetadata } from '@nestjs/common';
import { Cron, Interval, ScheduleModule, SchedulerRegistry, Timeout } from '@nestjs/schedule';
import { CronLocked, currentLock, Locked } from 'nestjs-redis-lock';
import { describeWithRedis } from '../support/redis.js';
import { deferred, waitFor } from '../support/wait-for.js';
import { locksOf, NestFixture, recordEvents } from './support/nest-fixture.js';

/** Never by itself while a test runs: the jobs are fired by hand. */
const NEVER = '0 0 29 2 1';

@Injectable()
class Jobs {
  /** The keys that the runs were under. */
  readonly runs: string[] = [];

  @Locked('nightly', { wait: 0, onBusy: 'skip' })
  @Cron(NEVER, { name: 'locked-above' })
  async lockedAbove(): Promise<void> {
    this.runs.push(currentLock().key);
  }

  @Cron(NEVER, { name: 'locked-below' })
  @Locked('nightly', { wait: 0, onBusy: 'skip' })
  async lockedBelow(): Promise<void> {
    this.runs.push(currentLock().key);
  }

  @CronLocked('nightly')
  @Cron(NEVER, { name: 'cron-locked-above' })
  async cronLockedAbove(): Promise<void> {
    this.runs.push(currentLock().key);
  }

  @Cron(NEVER, { name: 'cron-locked-below' })
  @CronLocked('nightly')
  async cronLockedBelow(): Promise<void> {
    this.runs.push(currentLock().key);
  }
}

const JOBS = [
  { job: 'locked-above', key: 'nightly' },
  { job: 'locked-below', key: 'nightly' },
  { job: 'cron-locked-above', key: 'scheduler:nightly' },
  { job: 'cron-locked-below', key: 'scheduler:nightly' },
];

describeWithRedis('Locked jobs of @nestjs/schedule', () => {
  const fixture = NestFixture.use();

  const importOrders: { order: string; imports: () => NonNullable<ModuleMetadata['imports']> }[] = [
    { order: 'before', imports: () => [ScheduleModule.forRoot(), fixture.lockModule()] },
    { order: 'after', imports: () => [fixture.lockModule(), ScheduleModule.forRoot()] },
  ];

  test.each(JOBS)('case 27: the job $job → registered under its name', async ({ job }) => {
    const app = await fixture.module({ imports: [ScheduleModule.forRoot()], providers: [Jobs] });
    expect([...app.get(SchedulerRegistry).getCronJobs().keys()].sort()).toEqual(JOBS.map((each) => each.job).sort());
    await app.get(SchedulerRegistry).getCronJob(job).fireOnTick();
    await waitFor(() => app.get(Jobs).runs.length === 1);
    await fixture.expectNothingLocked();
  });

  for (const { order, imports } of importOrders) {
    test.each(JOBS)(`case 28: ScheduleModule imported ${order} ours, the job $job → locked`, async ({ job, key }) => {
      const app = await fixture.compile({ imports: imports(), providers: [Jobs] });
      const { runs } = app.get(Jobs);
      const cron = app.get(SchedulerRegistry).getCronJob(job);
      const [acquired, refused] = [recordEvents(locksOf(app), 'acquired'), recordEvents(locksOf(app), 'refused')];

      const elsewhere = await fixture.lockElsewhere(key);
      await cron.fireOnTick();
      await waitFor(() => refused.length === 1);
      expect(refused[0]).toMatchObject({ key, code: 'LOCK_BUSY' });
      expect(runs).toEqual([]);

      await elsewhere.release();
      await cron.fireOnTick();
      await waitFor(() => runs.length === 1);
      expect(runs).toEqual([key]);
      expect(acquired).toHaveLength(1);
      await fixture.expectNothingLocked();
      expect(fixture.logs.of('error')).toEqual([]);
    });
  }

  test('case 27: @Interval and @Timeout jobs → registered and locked', async () => {
    const [interval, timeout] = [deferred<string>(), deferred<string>()];
    @Injectable()
    class Timers {
      @CronLocked('interval')
      @Interval('interval', 20)
      async interval(): Promise<void> {
        interval.resolve(currentLock().key);
      }

      @Timeout('timeout', 20)
      @Locked('timeout')
      async timeout(): Promise<void> {
        timeout.resolve(currentLock().key);
      }
    }
    await fixture.module({ imports: [ScheduleModule.forRoot()], providers: [Timers] });
    expect(await interval.promise).toBe('scheduler:interval');
    expect(await timeout.promise).toBe('timeout');
  });
});
