import { Controller, Param, Post } from '@nestjs/common';
import { lockKey, Locked } from 'nestjs-redis-lock';
import { PositiveIntPipe } from '../common/positive-int.pipe.js';
import { UserId } from '../common/user-id.decorator.js';
import { ProcessLocks } from './process-locks.js';
import { SeckillService, type SeckillAnswer } from './seckill.service.js';

/** Three ways to guard one and the same method. */
@Controller('voucher-order/seckill')
export class SeckillController {
  constructor(
    private readonly seckill: SeckillService,
    private readonly processLocks: ProcessLocks,
  ) {}

  /** The lock to use: visible to all nodes, and renewed for as long as the work takes. */
  @Post(':voucherId')
  @Locked('order:<userId>:<voucherId>')
  buy(@UserId() userId: number, @Param('voucherId', PositiveIntPipe) voucherId: number): Promise<SeckillAnswer> {
    return this.seckill.buy(userId, voucherId);
  }

  /** A fixed lease: visible to all nodes, but over after 10 s, whether the work is done or not. */
  @Post(':voucherId/simple')
  @Locked('order:<userId>:<voucherId>', { ttl: '10s', wait: '2s', renew: false, reentrant: false })
  buySimple(@UserId() userId: number, @Param('voucherId', PositiveIntPipe) voucherId: number): Promise<SeckillAnswer> {
    return this.seckill.buy(userId, voucherId);
  }

  /** WRONG on more than one node: a mutex in the memory of this process, which no other node sees. Right on a single node. */
  @Post(':voucherId/in-process')
  buyInProcess(
    @UserId() userId: number,
    @Param('voucherId', PositiveIntPipe) voucherId: number,
  ): Promise<SeckillAnswer> {
    return this.processLocks.run(lockKey`order:${userId}:${voucherId}`, () => this.seckill.buy(userId, voucherId));
  }
}
