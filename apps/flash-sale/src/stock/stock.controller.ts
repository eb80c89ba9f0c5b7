import { Body, Controller, HttpCode, Param, Post } from '@nestjs/common';
import { currentLock, Locked } from 'nestjs-redis-lock';
import { PositiveIntPipe } from '../common/positive-int.pipe.js';
import { DeductDto } from './deduct.dto.js';
import { StockService } from './stock.service.js';

@Controller('stock')
export class StockController {
  constructor(private readonly stock: StockService) {}

  @Post(':productId/deduct')
  @HttpCode(200)
  @Locked('stock:<productId>', { ttl: '10s' })
  async deduct(
    @Param('productId', PositiveIntPipe) productId: number,
    @Body() { quantity }: DeductDto,
  ): Promise<{ stock: number }> {
    return { stock: await this.stock.deduct(productId, quantity, currentLock().fencingToken) };
  }
}
