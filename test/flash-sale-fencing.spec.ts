import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { TestApp } from '../apps/flash-sale/test/test-app.js';
import { startMariadb, type MariadbServer } from '../scripts/lib/servers.mjs';
import { describeWithMariadb } from './support/redis.js';

/** Larger than any that is minted before the year 2200. */
const newerToken = 8e15;

describeWithMariadb('what is written with a fencing token', () => {
  let mariadb: MariadbServer;
  let app: TestApp;

  beforeAll(async () => {
    mariadb = await startMariadb();
    app = await TestApp.start(mariadb.url);
  });

  afterAll(async () => {
    await app?.close();
    await mariadb?.stop();
  });

  describe('POST /orders/:id/process', () => {
    const newOrder = async (): Promise<number> => Number((await app.buy(await app.newVoucher(), '', 7)).body.orderId);

    test('completes an order once; asking again gives the same order', async () => {
      const id = await newOrder();
      const first = await app.post(`/orders/${id}/process`);
      expect(first).toMatchObject({ status: 200, body: { id, status: 'completed', fence: expect.any(Number) } });
      const second = await app.post(`/orders/${id}/process`);
      expect(second).toMatchObject({ status: 200, body: first.body });
    });

    test('a holder with a smaller fencing token writes nothing', async () => {
      const id = await newOrder();
      await app.orders.update({ id }, { fence: newerToken });
      expect(await app.post(`/orders/${id}/process`)).toMatchObject({ status: 409 });
      expect(await app.orders.findOneBy({ id })).toMatchObject({ status: 'pending', fence: newerToken });
    });

    test('no such order, no such id', async () => {
      expect(await app.post('/orders/99999/process')).toMatchObject({ status: 404, message: 'No such order' });
      expect(await app.post('/orders/abc/process')).toMatchObject({ status: 400 });
    });
  });

  describe('POST /stock/:productId/deduct', () => {
    const product = (id: number): string => `${app.prefix}:product:${id}`;

    test('50 deductions at once from a stock of 30 take 30, and never go below zero', async () => {
      await app.redis.hset(product(1), 'stock', 30);
      const answers = await Promise.all(Array.from({ length: 50 }, () => app.post('/stock/1/deduct', { quantity: 1 })));
      const left = answers.flatMap(({ status, body }) => (status === 200 ? [Number(body.stock)] : []));
      expect(left.sort((a, b) => a - b)).toEqual(Array.from({ length: 30 }, (_, stock) => stock));
      const refused = answers.filter(({ status, message }) => status === 400 && message === 'Insufficient stock');
      expect(refused).toHaveLength(20);
      expect(await app.redis.hget(product(1), 'stock')).toBe('0');
    });

    test('a product that is not there has no stock', async () => {
      expect(await app.post('/stock/2/deduct', { quantity: 1 })).toMatchObject({
        status: 400,
        message: 'Insufficient stock',
      });
      expect(await app.redis.exists(product(2))).toBe(0);
    });

    test('a holder with a smaller fencing token writes nothing', async () => {
      await app.redis.hset(product(3), 'stock', 30, 'fence', newerToken);
      expect(await app.post('/stock/3/deduct', { quantity: 1 })).toMatchObject({ status: 409 });
      expect(await app.redis.hget(product(3), 'stock')).toBe('30');
    });

    test.each([{}, { quantity: 0 }, { quantity: -1 }, { quantity: 1.5 }, { quantity: '1' }, { quantity: 1, price: 0 }])(
      '%j answers 400',
      async (body) => {
        expect(await app.post('/stock/1/deduct', body)).toMatchObject({ status: 400, body: { error: 'Bad Request' } });
      },
    );
  });
});
