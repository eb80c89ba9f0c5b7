import { BadRequestException, ConflictException, Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { Redis } from 'ioredis';
import { readConfig } from '../config.js';
import { deductScript, type DeductReply } from './deduct.script.js';

/** Stock that is kept in Redis, in the hash `<prefix>:product:<id>`; a product that is not there has none. */
@Injectable()
export class StockService implements OnApplicationShutdown {
  private readonly logger = new Logger(StockService.name);
  private readonly redis: Redis;
  private readonly prefix: string;

  constructor() {
    const { redisUrl, redisPrefix } = readConfig();
    this.prefix = redisPrefix;
    this.redis = new Redis(redisUrl);
    this.redis.on('error', (error) => this.logger.warn(error.message));
  }

  /** Gives back the stock that is left. */
  async deduct(productId: number, quantity: number, fencingToken: number): Promise<number> {
    const product = `${this.prefix}:product:${productId}`;
    const reply = (await this.redis.eval(deductScript, 1, product, fencingToken, quantity)) as DeductReply;
    if (reply === 'insufficient') throw new BadRequestException('Insufficient stock');
    if (reply === 'stale') throw new ConflictException('A later holder of the lock has written this stock');
    return reply;
  }

  onApplicationShutdown(): void {
    this.redis.disconnect();
  }
}
