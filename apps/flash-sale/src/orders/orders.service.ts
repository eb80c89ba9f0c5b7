import { ConflictException, Injectable, NotFoundException } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { LessThanOrEqual, Repository } from 'typeorm';
import { VoucherOrder } from './voucher-order.entity.js';

@Injectable()
export class OrdersService {
  constructor(@InjectRepository(VoucherOrder) private readonly orders: Repository<VoucherOrder>) {}

  /**
   * Completes a pending order; one that is completed stays as it is. The statement that writes compares the fencing token, so a holder
   * that was paused beyond its lease and wakes up writes nothing once a later holder has been here.
   */
  async process(id: number, fencingToken: number): Promise<VoucherOrder> {
    await this.orders.update(
      { id, status: 'pending', fence: LessThanOrEqual(fencingToken) },
      { status: 'completed', fence: fencingToken },
    );
    const order = await this.orders.findOneBy({ id });
    if (!order) throw new NotFoundException('No such order');
    if (order.status === 'pending') throw new ConflictException('A later holder of the lock has written this order');
    return order;
  }
}
