import { Injectable, type OnModuleInit } from '@nestjs/common';
import { LockService } from 'nestjs-redis-lock';
import { DataSource } from 'typeorm';

/**
 * Brings the tables up to date. TypeORM's own `synchronize: true` reads the schema and then changes it, so nodes that start at the
 * same time create the same table twice and all but one fail. Under a lock the first one does it and the others find it done.
 * A real app runs migrations instead, before its nodes start.
 */
@Injectable()
export class SchemaService implements OnModuleInit {
  constructor(
    private readonly dataSource: DataSource,
    private readonly locks: LockService,
  ) {}

  async onModuleInit(): Promise<void> {
    await this.locks.run('schema', () => this.dataSource.synchronize(), { wait: '1m' });
  }
}
