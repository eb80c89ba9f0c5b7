import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { Inject, Injectable } from '@nestjs/common';
import { createPool, type Pool, type PoolConnection, type RowDataPacket } from 'mysql2/promise';
import { Locked } from 'nestjs-redis-lock';
import { AsyncLocalStorage } from 'node:async_hooks';
import { startMariadb, type MariadbServer } from '../../scripts/lib/servers.mjs';
import { describeWithMariadb, describeWithRedis } from '../support/redis.js';
import { deferred, type Deferred } from '../support/wait-for.js';
import { NestFixture } from './support/nest-fixture.js';

const transactions = new AsyncLocalStorage<PoolConnection>();

/** What transaction decorators do: begin, call, commit or roll back; what is called finds the connection by itself. */
const Transactional: MethodDecorator = (_target, _name, descriptor: PropertyDescriptor) => {
  const method = descriptor.value as (...args: unknown[]) => Promise<unknown>;
  descriptor.value = async function (this: Stock, ...args: unknown[]): Promise<unknown> {
    const connection = await this.pool.getConnection();
    try {
      await connection.beginTransaction();
      const result = await transactions.run(connection, async () => method.apply(this, args));
      await this.beforeCommit();
      await connection.commit();
      return result;
    } catch (error) {
      await connection.rollback();
      throw error;
    } finally {
      connection.release();
    }
  };
};

@Injectable()
class Stock {
  beforeCommit = async (): Promise<void> => {};
  afterRead: (stock: number) => void = () => {};

  constructor(@Inject('POOL') readonly pool: Pool) {}

  @Locked('stock:<0>', { wait: '50s' })
  @Transactional
  async lockOutside(id: number): Promise<number> {
    return this.readThenWrite(id);
  }

  @Transactional
  @Locked('stock:<0>', { wait: '50s' })
  async lockInside(id: number): Promise<number> {
    return this.readThenWrite(id);
  }

  @Locked('stock:<0>', { wait: '50s' })
  @Transactional
  async failing(id: number): Promise<number> {
    await this.readThenWrite(id);
    throw new Error('the order is refused');
  }

  /** Two statements on purpose: only what is outside of them keeps others out. */
  private async readThenWrite(id: number): Promise<number> {
    const connection = transactions.getStore();
    if (!connection) throw new Error('There is no transaction');
    const [rows] = await connection.query<RowDataPacket[]>('SELECT stock FROM item WHERE id = ?', [id]);
    const seen = Number(rows[0]?.['stock']);
    this.afterRead(seen);
    await connection.query('UPDATE item SET stock = ? WHERE id = ?', [seen - 1, id]);
    return seen;
  }
}

describeWithRedis('A lock and a transaction on one method', () => {
  describeWithMariadb('on MariaDB', () => {
    const fixture = NestFixture.use();
    let mariadb: MariadbServer;
    let pool: Pool;

    beforeAll(async () => {
      mariadb = await startMariadb();
      pool = createPool({ uri: mariadb.url, connectionLimit: 10 });
      await pool.query('CREATE TABLE item (id INT PRIMARY KEY, stock INT NOT NULL) ENGINE=InnoDB');
    }, 120_000);

    afterAll(async () => {
      await pool.end();
      await mariadb.stop();
    });

    beforeEach(async () => {
      await pool.query('REPLACE INTO item VALUES (1, 50)');
    });

    const node = async (): Promise<Stock> => {
      const app = await fixture.module({ providers: [Stock, { provide: 'POOL', useValue: pool }] });
      return app.get(Stock);
    };
    /** Its next transactions wait before their commit, to the end of the test at most. */
    const stopAtCommit = (stock: Stock): { atCommit: Deferred<void>; commit: Deferred<void> } => {
      const [atCommit, commit] = [deferred(), deferred()];
      fixture.closeLater(() => commit.resolve());
      stock.beforeCommit = async () => {
        atCommit.resolve();
        await commit.promise;
      };
      return { atCommit, commit };
    };
    const stockLeft = async (): Promise<number> => {
      const [rows] = await pool.query<RowDataPacket[]>('SELECT stock FROM item WHERE id = 1');
      return Number(rows[0]?.['stock']);
    };

    test('case 35: the lock outside → the next caller is let in after the commit, and sees the committed row', async () => {
      const [first, second] = [await node(), await node()];
      const { atCommit, commit } = stopAtCommit(first);

      const firstSaw = first.lockOutside(1);
      await atCommit.promise;
      const { asked } = await fixture.watchAsking('stock:1');
      const secondSaw = second.lockOutside(1);
      await asked();
      // The work is done, the commit is not: the lock is still held.
      expect(await fixture.isLocked('stock:1')).toBe(true);
      expect(await stockLeft()).toBe(50);
      commit.resolve();

      expect([await firstSaw, await secondSaw]).toEqual([50, 49]);
      expect(await stockLeft()).toBe(48);
    });

    test('case 35: the lock outside, 50 calls at once on two nodes → no decrement is lost', async () => {
      const nodes = [await node(), await node()];
      const seen = await Promise.all(Array.from({ length: 50 }, async (_, call) => nodes[call % 2]?.lockOutside(1)));
      expect(seen.sort((a = 0, b = 0) => b - a)).toEqual(Array.from({ length: 50 }, (_, sold) => 50 - sold));
      expect(await stockLeft()).toBe(0);
      await fixture.expectNothingLocked();
    });

    test('case 35: the lock outside, rolled back → the error reaches the caller, and the next one sees the old row', async () => {
      const stock = await node();
      await expect(stock.failing(1)).rejects.toThrow('the order is refused');
      expect(await stock.lockOutside(1)).toBe(50);
      expect(await stockLeft()).toBe(49);
    });

    test('case 35: the lock inside, as the docs warn → it is free before the commit, and the next caller sees the old row', async () => {
      const [first, second] = [await node(), await node()];
      const { atCommit, commit } = stopAtCommit(first);

      const firstSaw = first.lockInside(1);
      await atCommit.promise;
      const read = deferred<number>();
      second.afterRead = read.resolve;
      const selling = second.lockInside(1).catch(() => 'some databases refuse this write');

      expect(await read.promise).toBe(50);
      commit.resolve();
      expect(await firstSaw).toBe(50);
      await selling;
      expect(await stockLeft()).toBe(49);
    });
  });
});
