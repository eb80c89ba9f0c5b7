import { Injectable, Logger } from '@nestjs/common';
import { Cron, CronExpression } from '@nestjs/schedule';
import { InjectRepository } from '@nestjs/typeorm';
import { CronLocked, LockService } from 'nestjs-redis-lock';
import { Repository } from 'typeorm';
import { StatsService } from '../common/stats.service.js';
import { VoucherOrder } from '../orders/voucher-order.entity.js';

/** Reports how many orders wait to be processed. Every node has this job, one of them runs it. */
@Injectable()
export class PendingOrdersReport {
  private readonly logger = new Logger(PendingOrdersReport.name);
  private reported = 0;

  constructor(
    @InjectRepository(VoucherOrder) private readonly orders: Repository<VoucherOrder>,
    private readonly stats: StatsService,
    locks: LockService,
  ) {
    locks.events.on('skipped', ({ key }) => {
      if (key === 'scheduler:pending-orders') this.stats.fired(false);
    });
  }

  /**
   * Every second, so that a minute of watching shows something. The job takes a few ms, less than the nodes' timers are apart: `minHold`
   * keeps the lock for most of the period, so that a node that fires late does not run the same tick again.
   */
  @Cron(CronExpression.EVERY_SECOND)
  @CronLocked('pending-orders', { ttl: '10s', minHold: '700ms', maxHold: '1m' })
  async report(): Promise<void> {
    this.stats.fired(true);
    const pending = await this.orders.countBy({ status: 'pending' });
    if (pending !== this.reported) this.logger.log(`${pending} orders are pending`);
    this.reported = pending;
  }
}
