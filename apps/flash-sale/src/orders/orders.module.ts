import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { OrdersController } from './orders.controller.js';
import { OrdersService } from './orders.service.js';
import { VoucherOrder } from './voucher-order.entity.js';

@Module({
  imports: [TypeOrmModule.forFeature([VoucherOrder])],
  controllers: [OrdersController],
  providers: [OrdersService],
})
export class OrdersModule {}
