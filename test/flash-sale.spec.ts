import { afterAll, afterEach, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { createLockClient, type LockClient } from 'nestjs-redis-lock';
import { StatsService } from '../apps/flash-sale/src/common/stats.service.js';
import { TestApp } from '../apps/flash-sale/test/test-app.js';
import { startMariadb, type MariadbServer } from '../scripts/lib/servers.mjs';
import { describeWithMariadb, sharedRedisUrl } from './support/redis.js';
import { waitFor } from './support/wait-for.js';

const routes = ['', '/simple', '/in-process'];

describeWithMariadb('the flash sale', () => {
  let mariadb: MariadbServer;
  let app: TestApp;
  /** Another node. */
  let locks: LockClient;

  beforeAll(async () => {
    mariadb = await startMariadb();
    app = await TestApp.start(mariadb.url);
    locks = createLockClient({ connection: sharedRedisUrl(), prefix: `${app.prefix}:lock` });
  });

  afterEach(() => void jest.restoreAllMocks());

  afterAll(async () => {
    await locks?.close();
    await app?.close();
    await mariadb?.stop();
  });

  describe.each(routes)('POST /voucher-order/seckill/:voucherId%s', (route) => {
    test('a user gets one order, and no second one', async () => {
      const voucherId = await app.newVoucher();
      const { status, body } = await app.buy(voucherId, route, 7);
      expect({ status, body }).toEqual({ status: 201, body: { orderId: expect.any(Number), status: 'success' } });
      expect(await app.buy(voucherId, route, 7)).toMatchObject({ status: 400, message: 'User has already purchased' });
      expect(await app.orders.findBy({ voucherId })).toMatchObject([
        { id: body.orderId, userId: 7, status: 'pending' },
      ]);
      expect(await app.stockOf(voucherId)).toBe(9);
    });

    test('20 clicks of one user at once make one order', async () => {
      const voucherId = await app.newVoucher();
      const answers = await Promise.all(Array.from({ length: 20 }, () => app.buy(voucherId, route, 7)));
      expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
      expect(answers.filter(({ message }) => message === 'User has already purchased')).toHaveLength(19);
      expect(app.app.get(StatsService).indexHits).toBe(0);
    });

    test('20 users and 5 in stock make 5 orders', async () => {
      const voucherId = await app.newVoucher({ stock: 5 });
      const answers = await Promise.all(Array.from({ length: 20 }, (_, user) => app.buy(voucherId, route, user + 1)));
      expect(answers.filter(({ status }) => status === 201)).toHaveLength(5);
      expect(answers.filter(({ status, message }) => status === 400 && message === 'Out of stock')).toHaveLength(15);
      expect(await app.stockOf(voucherId)).toBe(0);
    });

    test('nothing is sold before the sale, after it, and of a voucher that does not exist', async () => {
      const early = await app.newVoucher({ begin: 1, end: 2 });
      const late = await app.newVoucher({ begin: -2, end: -1 });
      expect(await app.buy(early, route, 7)).toMatchObject({ status: 400, message: 'The sale has not begun' });
      expect(await app.buy(late, route, 7)).toMatchObject({ status: 400, message: 'The sale is over' });
      expect(await app.buy(99_999, route, 7)).toMatchObject({ status: 404, message: 'No such voucher' });
    });

    test.each([undefined, 'abc', '0', '07', '-1', '1.5', '1e3', '9007199254740993'])(
      'user %s answers 400',
      async (user) => {
        expect(await app.buy(1, route, user)).toMatchObject({
          status: 400,
          message: 'x-user-id must be a positive integer',
        });
      },
    );

    test('a voucher id that is not in its canonical form answers 400', async () => {
      const message = 'voucherId must be a positive integer';
      expect(await app.buy('abc', route, 7)).toMatchObject({ status: 400, message });
      expect(await app.buy('07', route, 7)).toMatchObject({ status: 400, message });
    });
  });

  test('who does not get the lock in time is told that the system is busy', async () => {
    const voucherId = await app.newVoucher();
    const answers = await locks.run(`order:7:${voucherId}`, () =>
      Promise.all([app.buy(voucherId, '', 7), app.buy(voucherId, '/simple', 7)]),
    );
    for (const answer of answers) {
      expect(answer).toMatchObject({ status: 429, message: 'System busy, please try later' });
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
      expect(JSON.stringify(answer.body)).not.toContain('order:');
    }
  });

  test('what gets past every lock is refused by the unique index, and counted', async () => {
    const voucherId = await app.newVoucher();
    await app.buy(voucherId, '', 7);
    jest.spyOn(app.orders, 'existsBy').mockResolvedValueOnce(false);
    expect(await app.buy(voucherId, '', 7)).toMatchObject({ status: 400, message: 'User has already purchased' });
    expect(app.app.get(StatsService).indexHits).toBe(1);
    expect(await app.stockOf(voucherId)).toBe(9);
  });

  test('the last one is sold once, also to users who both saw it', async () => {
    const voucherId = await app.newVoucher({ stock: 1 });
    const seen = await app.vouchers.findOneBy({ id: voucherId });
    await app.buy(voucherId, '', 7);
    jest.spyOn(app.vouchers, 'findOneBy').mockResolvedValueOnce(seen);
    expect(await app.buy(voucherId, '', 8)).toMatchObject({ status: 400, message: 'Out of stock' });
    expect(await app.stockOf(voucherId)).toBe(0);
  });

  test('what nobody expected is rolled back, logged, and answers 500', async () => {
    const voucherId = await app.newVoucher();
    const fail = "SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'disk on fire'";
    await app.orders.query(`CREATE TRIGGER broken BEFORE INSERT ON voucher_order FOR EACH ROW ${fail}`);
    try {
      expect(await app.buy(voucherId, '', 7)).toMatchObject({ status: 500 });
    } finally {
      await app.orders.query('DROP TRIGGER broken');
    }
    expect(await app.stockOf(voucherId)).toBe(10);
    expect(app.errors.join()).toContain('disk on fire');
    expect(await app.buy(voucherId, '', 7)).toMatchObject({ status: 201 });
  });

  test('the scheduled job runs every second, and is left out while another node has it', async () => {
    const { firings } = app.app.get(StatsService);
    const last = await waitFor(() => firings.findLast(({ ran }) => ran));
    expect(last.ran).toBe(true);
    await locks.run('scheduler:pending-orders', () => waitFor(() => firings.at(-1)?.ran === false));
  });

  test('nodes that start at the same time create the tables once', async () => {
    await app.orders.query('CREATE DATABASE fresh');
    const url = mariadb.url.replace(/\w+$/, 'fresh');
    const nodes = await Promise.all([1, 2, 3].map(() => TestApp.start(url, `${app.prefix}:fresh`)));
    expect(await Promise.all(nodes.map((node) => node.orders.count()))).toEqual([0, 0, 0]);
    await Promise.all(nodes.map((node) => node.close()));
  });
});
