import { Column, CreateDateColumn, Entity, Index, PrimaryGeneratedColumn } from 'typeorm';
import { BigintColumn } from '../common/bigint-column.js';
import { safetyNets } from '../common/safety-nets.js';

export type OrderStatus = 'pending' | 'completed';

/** The unique index is the last line of defence of "one order a user", below every lock. */
@Entity()
@Index('one_order_a_user', ['userId', 'voucherId'], { unique: safetyNets })
export class VoucherOrder {
  @PrimaryGeneratedColumn()
  id!: number;

  @BigintColumn()
  userId!: number;

  @Column('int')
  voucherId!: number;

  @Column({ type: 'varchar', length: 16, default: 'pending' })
  status!: OrderStatus;

  /** The highest fencing token that wrote this row. */
  @BigintColumn({ default: 0 })
  fence!: number;

  @CreateDateColumn()
  createdAt!: Date;
}
