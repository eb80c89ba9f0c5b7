import { Column, Entity, PrimaryGeneratedColumn } from 'typeorm';

/** A voucher that is sold in a flash sale. */
@Entity()
export class SeckillVoucher {
  @PrimaryGeneratedColumn()
  id!: number;

  @Column('int')
  stock!: number;

  @Column('datetime')
  begin!: Date;

  @Column('datetime')
  end!: Date;
}
