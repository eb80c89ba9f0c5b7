import type { INestApplication } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { getRepositoryToken } from '@nestjs/typeorm';
import type { Redis } from 'ioredis';
import type { Repository } from 'typeorm';
import { newRedis, sharedRedisUrl, uniquePrefix } from '../../../test/support/redis.js';
import { AppModule } from '../src/app.module.js';
import { VoucherOrder } from '../src/orders/voucher-order.entity.js';
import { SeckillVoucher } from '../src/seckill/seckill-voucher.entity.js';

export interface Answer {
  readonly status: number;
  /** Of the body, when it has one. */
  readonly message?: unknown;
  readonly body: Record<string, unknown>;
  readonly headers: Headers;
}

const DAY = 86_400_000;

/** The whole app in this process, at a free port. */
export class TestApp {
  /** What was logged as an error. */
  readonly errors: string[] = [];
  private readonly log = (message: unknown): void => void this.errors.push(String(message));
  app!: INestApplication;
  private url = '';

  private constructor(
    readonly prefix: string,
    readonly redis: Redis,
  ) {}

  static async start(databaseUrl: string, prefix = uniquePrefix()): Promise<TestApp> {
    Object.assign(process.env, { REDIS_URL: sharedRedisUrl(), REDIS_PREFIX: prefix, DATABASE_URL: databaseUrl });
    const test = new TestApp(prefix, newRedis());
    const quiet = (): void => {};
    test.app = await NestFactory.create(AppModule, { logger: { log: quiet, warn: quiet, error: test.log } });
    await test.app.listen(0, '127.0.0.1');
    test.url = await test.app.getUrl();
    return test;
  }

  get vouchers(): Repository<SeckillVoucher> {
    return this.app.get<Repository<SeckillVoucher>>(getRepositoryToken(SeckillVoucher));
  }

  get orders(): Repository<VoucherOrder> {
    return this.app.get<Repository<VoucherOrder>>(getRepositoryToken(VoucherOrder));
  }

  /** A voucher whose sale is on, unless `begin` and `end` say otherwise: days from now. */
  async newVoucher({ stock = 10, begin = -1, end = 1 } = {}): Promise<number> {
    const day = (days: number): Date => new Date(Date.now() + days * DAY);
    return (await this.vouchers.save({ stock, begin: day(begin), end: day(end) })).id;
  }

  async stockOf(voucherId: number): Promise<number> {
    return (await this.vouchers.findOneByOrFail({ id: voucherId })).stock;
  }

  buy(voucherId: number | string, suffix: string, userId?: number | string): Promise<Answer> {
    const headers: Record<string, string> = userId === undefined ? {} : { 'x-user-id': String(userId) };
    return this.post(`/voucher-order/seckill/${voucherId}${suffix}`, undefined, headers);
  }

  async post(path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Answer> {
    const response = await fetch(this.url + path, {
      method: 'POST',
      headers: body === undefined ? headers : { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    const answer = (await response.json()) as Record<string, unknown>;
    return { status: response.status, message: answer.message, body: answer, headers: response.headers };
  }

  async close(): Promise<void> {
    await this.app.close();
    const keys = await this.redis.keys(`${this.prefix}:*`);
    if (keys.length > 0) await this.redis.del(keys);
    this.redis.disconnect();
  }
}
