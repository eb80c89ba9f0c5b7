import { BadRequestException, Injectable, NotFoundException } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { DataSource, MoreThan, QueryFailedError, Repository, type EntityManager } from 'typeorm';
import { safetyNets } from '../common/safety-nets.js';
import { StatsService } from '../common/stats.service.js';
import { VoucherOrder } from '../orders/voucher-order.entity.js';
import { SeckillVoucher } from './seckill-voucher.entity.js';

export interface SeckillAnswer {
  readonly orderId: number;
  readonly status: 'success';
}

const alreadyPurchased = (): Error => new BadRequestException('User has already purchased');
const outOfStock = (): Error => new BadRequestException('Out of stock');

/** The sale itself. It takes no lock: its callers guard it. */
@Injectable()
export class SeckillService {
  constructor(
    @InjectRepository(SeckillVoucher) private readonly vouchers: Repository<SeckillVoucher>,
    @InjectRepository(VoucherOrder) private readonly orders: Repository<VoucherOrder>,
    private readonly dataSource: DataSource,
    private readonly stats: StatsService,
  ) {}

  /**
   * One order a user: that is what a lock per user and voucher around this method guards, because between "has no order" and the new
   * order there is time for another request of that user. The stock is shared by all users, so that lock does not guard it; see `order`.
   */
  async buy(userId: number, voucherId: number): Promise<SeckillAnswer> {
    const voucher = await this.vouchers.findOneBy({ id: voucherId });
    if (!voucher) throw new NotFoundException('No such voucher');
    const now = new Date();
    if (now < voucher.begin) throw new BadRequestException('The sale has not begun');
    if (now >= voucher.end) throw new BadRequestException('The sale is over');
    if (await this.orders.existsBy({ userId, voucherId })) throw alreadyPurchased();
    if (voucher.stock < 1) throw outOfStock();
    try {
      const orderId = await this.dataSource.transaction('READ COMMITTED', (tx) => this.order(tx, userId, voucherId));
      return { orderId, status: 'success' };
    } catch (error) {
      if (!isDuplicateKey(error)) throw error;
      this.stats.indexHits++;
      throw alreadyPurchased();
    }
  }

  /** Takes one from the stock and writes the order, or neither. The stock goes down in a single statement that cannot go below zero. */
  private async order(tx: EntityManager, userId: number, voucherId: number): Promise<number> {
    const inStock = safetyNets ? { stock: MoreThan(0) } : {};
    const { affected } = await tx.decrement(SeckillVoucher, { id: voucherId, ...inStock }, 'stock', 1);
    if (affected !== 1) throw outOfStock();
    const order = tx.create(VoucherOrder, { userId, voucherId });
    await tx.insert(VoucherOrder, order);
    return order.id;
  }
}

function isDuplicateKey(error: unknown): boolean {
  return error instanceof QueryFailedError && (error.driverError as { code?: string }).code === 'ER_DUP_ENTRY';
}
