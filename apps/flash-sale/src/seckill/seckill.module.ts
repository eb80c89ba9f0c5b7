import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { VoucherOrder } from '../orders/voucher-order.entity.js';
import { ProcessLocks } from './process-locks.js';
import { SeckillVoucher } from './seckill-voucher.entity.js';
import { SeckillController } from './seckill.controller.js';
import { SeckillService } from './seckill.service.js';

@Module({
  imports: [TypeOrmModule.forFeature([SeckillVoucher, VoucherOrder])],
  controllers: [SeckillController],
  providers: [SeckillService, ProcessLocks],
})
export class SeckillModule {}
