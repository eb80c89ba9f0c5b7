import { Controller, HttpCode, Param, Post } from '@nestjs/common';
import { currentLock, Locked } from 'nestjs-redis-lock';
import { PositiveIntPipe } from '../common/positive-int.pipe.js';
import { OrdersService } from './orders.service.js';
import type { VoucherOrder } from './voucher-order.entity.js';

@Controller('orders')
export class OrdersController {
  constructor(private readonly orders: OrdersService) {}

  @Post(':id/process')
  @HttpCode(200)
  @Locked('order:process:<id>', { ttl: '60s' })
  process(@Param('id', PositiveIntPipe) id: number): Promise<VoucherOrder> {
    return this.orders.process(id, currentLock().fencingToken);
  }
}
