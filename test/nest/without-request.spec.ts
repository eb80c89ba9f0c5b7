import { expect, test } from '@jest/globals';
import { Injectable, Module, type OnApplicationBootstrap, type OnModuleInit } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { currentLock, Locked, LockService } from 'nestjs-redis-lock';
import { describeWithRedis } from '../support/redis.js';
import { deferred } from '../support/wait-for.js';
import { NestFixture } from './support/nest-fixture.js';

@Injectable()
class Importer implements OnModuleInit, OnApplicationBootstrap {
  readonly held: Record<string, string> = {};

  constructor(private readonly locks: LockService) {}

  async onModuleInit(): Promise<void> {
    this.held['@Locked in onModuleInit'] = await this.import('init');
    this.held['LockService in onModuleInit'] = await this.run('init');
  }

  async onApplicationBootstrap(): Promise<void> {
    this.held['@Locked in onApplicationBootstrap'] = await this.import('bootstrap');
  }

  @Locked('import:<name>')
  async import(name: string): Promise<string> {
    currentLock(`import:${name}`).assertHeld();
    return currentLock().key;
  }

  async run(name: string): Promise<string> {
    return this.locks.run(`run:${name}`, (lock) => {
      lock.assertHeld();
      return currentLock().key;
    });
  }
}

describeWithRedis('Locks without any request', () => {
  const fixture = NestFixture.use();

  test('case 36: from onModuleInit and onApplicationBootstrap → @Locked and LockService work', async () => {
    const app = await fixture.module({ providers: [Importer] });
    expect(app.get(Importer).held).toEqual({
      '@Locked in onModuleInit': 'import:init',
      'LockService in onModuleInit': 'run:init',
      '@Locked in onApplicationBootstrap': 'import:bootstrap',
    });
    await fixture.expectNothingLocked();
  });

  test('case 36: from onModuleInit of a module imported before ours → they work', async () => {
    @Module({ providers: [Importer], exports: [Importer] })
    class ImporterModule {}
    const app = await fixture.compile({ imports: [ImporterModule, fixture.lockModule()] });
    expect(app.get(Importer).held).toMatchObject({ '@Locked in onModuleInit': 'import:init' });
  });

  test('case 36: in setTimeout → they work, and wait for their turn', async () => {
    const app = await fixture.module({ providers: [Importer] });
    const inTimer = deferred<string[]>();
    setTimeout(() => {
      inTimer.resolve(Promise.all([app.get(Importer).import('timer'), app.get(Importer).run('timer')]));
    }, 1);
    expect(await inTimer.promise).toEqual(['import:timer', 'run:timer']);

    const elsewhere = await fixture.lockElsewhere('import:later');
    const { asked } = await fixture.watchAsking('import:later');
    const later = deferred<string>();
    setTimeout(() => later.resolve(app.get(Importer).import('later')), 1);
    await asked();
    await elsewhere.release();
    expect(await later.promise).toBe('import:later');
  });

  test('case 36: from a context without HTTP (a CLI) → they work, others are excluded, and there are none after close()', async () => {
    @Module({ imports: [fixture.lockModule({ wait: 0 })], providers: [Importer] })
    class CliModule {}
    const context = await NestFactory.createApplicationContext(CliModule, { logger: fixture.logs });
    fixture.closeLater(() => context.close());

    expect(await context.get(Importer).import('cli')).toBe('import:cli');
    expect(await context.get(LockService).run('run:cli', async () => fixture.lockedKeys())).toEqual(['run:cli']);
    await fixture.lockElsewhere('import:cli');
    await expect(context.get(Importer).import('cli')).rejects.toMatchObject({ code: 'LOCK_BUSY' });

    await context.close();
    await expect(context.get(Importer).import('closed')).rejects.toMatchObject({ code: 'LOCK_SHUTDOWN' });
  });
});
