import { expect, test } from '@jest/globals';
import { Controller, Get, Injectable, Param } from '@nestjs/common';
import { currentLock, Locked, LockBusyError, LockLostError } from 'nestjs-redis-lock';
import { describeWithRedis } from '../support/redis.js';
import { deferred, waitFor, type Deferred } from '../support/wait-for.js';
import { locksOf, NestFixture, PLATFORMS, recordEvents, rejection } from './support/nest-fixture.js';

@Injectable()
class Exports {
  started = 0;
  /** Whether the lock was still held when the generator cleaned up. */
  heldInFinally: boolean[] = [];
  failAt = Infinity;
  gate?: Deferred<void>;

  @Locked('export:<id>', { wait: 0 })
  async *rows(id: string, count = 3): AsyncGenerator<string> {
    this.started++;
    try {
      for (let row = 1; row <= count; row++) {
        if (row === this.failAt) throw new Error('the rows broke');
        yield `${await this.nested(id)}/${row};`;
        await this.gate?.promise;
      }
    } finally {
      await this.gate?.promise;
      this.heldInFinally.push(currentLock().held);
    }
  }

  @Locked('export:<id>', { wait: 0 })
  async nested(id: string): Promise<string> {
    return `${currentLock().key.replace(id, '')}${id}`;
  }

  @Locked('export:<id>', { wait: '20s' })
  async *patient(id: string): AsyncGenerator<string> {
    this.started++;
    yield id;
  }

  @Locked('export:<id>', { wait: 0, returns: 'iterable' })
  iterable(id: string): AsyncIterable<string> {
    return this.plainRows(id);
  }

  private async *plainRows(id: string): AsyncGenerator<string> {
    yield `${id} ${currentLock().key}`;
    yield `${id} ${currentLock().key}`;
  }
}

@Controller()
class ExportController {
  constructor(private readonly service: Exports) {}

  @Get('rows/:id')
  rows(@Param('id') id: string): AsyncGenerator<string> {
    return this.service.rows(id);
  }
}

async function all(rows: AsyncIterable<string>): Promise<string[]> {
  const seen: string[] = [];
  for await (const row of rows) seen.push(row);
  return seen;
}

describeWithRedis('Async generators under a lock', () => {
  const fixture = NestFixture.use();

  async function start() {
    const app = await fixture.module({ providers: [Exports] });
    const [acquired, released] = [recordEvents(locksOf(app), 'acquired'), recordEvents(locksOf(app), 'released')];
    return { exports: app.get(Exports), acquired, released };
  }

  test('case 34: an async generator → held from its first step to its end, released exactly once', async () => {
    const { exports, acquired, released } = await start();
    const rows = exports.rows('7');
    expect(acquired).toEqual([]);
    const seen: string[] = [];
    for await (const row of rows) {
      seen.push(row);
      expect(await rejection(exports.rows('7').next())).toBeInstanceOf(LockBusyError);
    }
    expect(seen).toEqual(['export:7/1;', 'export:7/2;', 'export:7/3;']);
    expect(await fixture.isLocked('export:7')).toBe(false);
    expect([exports.started, acquired.length, released.length]).toEqual([1, 1, 1]);
    expect(exports.heldInFinally).toEqual([true]);
  });

  test('case 34: left in the middle → its finally runs under the lock, then it is released exactly once', async () => {
    const { exports, released } = await start();
    for await (const row of exports.rows('7', 1_000)) {
      if (row.includes('/2')) break;
    }
    expect(await fixture.isLocked('export:7')).toBe(false);
    expect(exports.heldInFinally).toEqual([true]);
    expect(released).toHaveLength(1);
  });

  test('case 34: it fails, or its reader throws into it → released, and the error is passed on', async () => {
    const { exports, released } = await start();
    exports.failAt = 2;
    await expect(all(exports.rows('7'))).rejects.toThrow('the rows broke');
    expect(await fixture.isLocked('export:7')).toBe(false);

    const rows = exports.rows('7');
    await rows.next();
    const error = new Error('the reader broke');
    expect(await rejection(rows.throw(error))).toBe(error);
    expect(await fixture.isLocked('export:7')).toBe(false);
    expect(exports.heldInFinally).toEqual([true, true]);
    expect(released).toHaveLength(2);
  });

  test('case 34: never read → never locked; left while it waits → nothing is left behind', async () => {
    const { exports, acquired } = await start();
    await exports.patient('7').return(undefined);
    expect([exports.started, acquired.length]).toEqual([0, 0]);

    const elsewhere = await fixture.lockElsewhere('export:7');
    const { asked } = await fixture.watchAsking('export:7');
    const rows = exports.patient('7');
    const settled = Promise.all([rows.next(), rows.return('left')]);
    await asked();
    await elsewhere.release();
    await settled;
    await fixture.expectNothingLocked();
  });

  test('case 34: lost while it runs → LockLostError after its last row', async () => {
    const { exports } = await start();
    const rows = exports.rows('7', 1);
    await rows.next();
    await fixture.redis.del(fixture.redisKey('export:7'));
    expect(await rejection(rows.next())).toBeInstanceOf(LockLostError);
  });

  test("case 34: an async iterable with returns: 'iterable' → held while it is read", async () => {
    const { exports, released } = await start();
    expect(await all(exports.iterable('7'))).toEqual(['7 export:7', '7 export:7']);
    expect(released).toHaveLength(1);
  });

  for (const platform of PLATFORMS) {
    const startServer = async () => fixture.server({ controllers: [ExportController], providers: [Exports], platform });

    test.each<['read' | 'left', string]>([
      ['read', 'export:7/1;export:7/2;export:7/3;'],
      ['left', 'nobody reads it'],
    ])(`case 34: a handler streams a locked generator on ${platform}, %s → held until then`, async (end, text) => {
      const server = await startServer();
      const released = recordEvents(server.locks, 'released');
      const service = server.app.get(Exports);
      const gate = deferred();
      service.gate = gate;
      fixture.closeLater(() => gate.resolve());

      const stream = await server.open('/rows/7');
      await stream.untilText('export:7/1;');
      expect(await fixture.lockedKeys()).toEqual(['export:7']);
      if (end === 'left') stream.leave();
      gate.resolve();
      expect(end === 'left' ? text : await stream.rest()).toBe(text);
      await fixture.expectNothingLocked();
      await waitFor(() => released.length > 0);
      expect(released).toHaveLength(1);
      expect(service.heldInFinally).toEqual([true]);
    });

    test(`a handler streams a locked generator on ${platform}, busy → 429, because nothing has been sent yet`, async () => {
      const server = await startServer();
      await fixture.lockElsewhere('export:7');
      const { status, text } = await server.get('/rows/7');
      expect(status).toBe(429);
      expect(text).not.toContain('export:7');
    });
  }
});
