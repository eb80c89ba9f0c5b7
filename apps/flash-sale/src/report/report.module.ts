import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { VoucherOrder } from '../orders/voucher-order.entity.js';
import { PendingOrdersReport } from './pending-orders.report.js';

@Module({ imports: [TypeOrmModule.forFeature([VoucherOrder])], providers: [PendingOrdersReport] })
export class ReportModule {}
