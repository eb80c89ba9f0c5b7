import { expect, test } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { currentLock, Locked, LockArgumentError, LockBusyError } from 'nestjs-redis-lock';
import { NestFixture, rejection } from '../nest/support/nest-fixture.js';
import { describeWithRedis } from '../support/redis.js';
import { deferred, type Deferred } from '../support/wait-for.js';

const settings = { uploads: 1 };

@Injectable()
class Reports {
  gate: Deferred<void> | undefined;
  inside = 0;

  @Locked('report:<tenant>', { permits: 2, wait: 0 })
  async write(tenant: string): Promise<string> {
    return this.work(tenant);
  }

  @Locked('upload', { permits: () => settings.uploads, wait: 0 })
  async upload(name: string): Promise<string> {
    return this.work(name);
  }

  @Locked('catalogue:<shop>', { mode: 'read', wait: 0 })
  async price(shop: string): Promise<string> {
    return this.work(shop);
  }

  @Locked('catalogue:<shop>', { mode: 'write', wait: 0 })
  async replace(shop: string): Promise<string> {
    return this.price(shop);
  }

  @Locked('catalogue:<shop>', { mode: 'read' })
  async correct(shop: string): Promise<string> {
    return this.replace(shop);
  }

  @Locked('report:<tenant>', { permits: 2 })
  async *pages(tenant: string): AsyncGenerator<string> {
    yield currentLock().key;
    yield tenant;
  }

  private async work(what: string): Promise<string> {
    this.inside++;
    await this.gate?.promise;
    return what;
  }
}

describeWithRedis('@Locked with permits and modes', () => {
  const fixture = NestFixture.use();

  async function start(): Promise<Reports> {
    const app = await fixture.module({ providers: [Reports] });
    return app.get(Reports);
  }

  /** Runs while two calls are inside; all end then. */
  async function during(reports: Reports, calls: (() => Promise<string>)[], check: () => Promise<void>): Promise<void> {
    const gate = deferred();
    reports.gate = gate;
    const before = reports.inside;
    const running = calls.map(async (call) => call());
    try {
      while (reports.inside < before + calls.length) await new Promise(setImmediate);
      reports.gate = undefined;
      await check();
    } finally {
      gate.resolve();
      await Promise.all(running);
    }
  }

  test('a semaphore lets so many in, for each value of its placeholders', async () => {
    const reports = await start();
    const writes = async (): Promise<string> => reports.write('acme');
    await during(reports, [writes, writes], async () => {
      expect(await rejection(writes())).toBeInstanceOf(LockBusyError);
      expect(await reports.write('other')).toBe('other');
    });
    expect(await writes()).toBe('acme');
    expect(await fixture.isLocked('report:acme')).toBe(false);
  });

  test('the permits may come from a function, which is asked at each call', async () => {
    const reports = await start();
    const uploads = async (): Promise<string> => reports.upload('a');
    await during(reports, [uploads], async () => {
      expect(await rejection(uploads())).toBeInstanceOf(LockBusyError);
      settings.uploads = 2;
      expect(await uploads()).toBe('a');
    });
    settings.uploads = 0;
    expect(await rejection(uploads())).toMatchObject({ code: 'LOCK_ARGUMENT', key: 'upload' });
  });

  test('readers are inside together, a writer alone, and it may read', async () => {
    const reports = await start();
    const reads = async (): Promise<string> => reports.price('acme');
    await during(reports, [reads, reads], async () => {
      expect(await rejection(reports.replace('acme'))).toBeInstanceOf(LockBusyError);
    });
    await during(reports, [async () => reports.replace('acme')], async () => {
      expect(await rejection(reads())).toBeInstanceOf(LockBusyError);
    });
    expect(await rejection(reports.correct('acme'))).toMatchObject({
      code: 'LOCK_ARGUMENT',
      message: expect.stringContaining('a reader cannot become a writer'),
    });
    expect(await fixture.isLocked('catalogue:acme')).toBe(false);
  });

  test('an async generator holds its permit to its end', async () => {
    const reports = await start();
    const seen: string[] = [];
    for await (const page of reports.pages('acme')) {
      seen.push(page);
      expect(await fixture.isLocked('report:acme')).toBe(true);
    }
    expect(seen).toEqual(['report:acme', 'acme']);
    expect(await fixture.isLocked('report:acme')).toBe(false);
  });

  test.each([
    [{ permits: 0 }, 'permits'],
    [{ permits: 2, take: 3 }, 'take'],
    [{ take: 2 }, 'take'],
    [{ mode: 'shared' }, 'mode'],
    [{ mode: 'read', permits: 2 }, 'permits'],
  ])('%j is refused when the class is defined', (options, option) => {
    const define = (): void => {
      class Wrong {
        async method(): Promise<void> {}
      }
      const descriptor = Object.getOwnPropertyDescriptor(Wrong.prototype, 'method') as PropertyDescriptor;
      (Locked('key', options as never) as MethodDecorator)(Wrong.prototype, 'method', descriptor);
    };
    expect(define).toThrow(LockArgumentError);
    expect(define).toThrow(`@Locked on Wrong.method": option "${option}"`);
  });
});
