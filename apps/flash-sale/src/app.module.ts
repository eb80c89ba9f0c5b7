import { Module, ValidationPipe } from '@nestjs/common';
import { APP_PIPE } from '@nestjs/core';
import { ScheduleModule } from '@nestjs/schedule';
import { TypeOrmModule } from '@nestjs/typeorm';
import { RedisLockModule } from 'nestjs-redis-lock';
import { SchemaService } from './common/schema.service.js';
import { StatsModule } from './common/stats.module.js';
import { readConfig } from './config.js';
import { OrdersModule } from './orders/orders.module.js';
import { ReportModule } from './report/report.module.js';
import { SeckillModule } from './seckill/seckill.module.js';
import { StockModule } from './stock/stock.module.js';

@Module({
  imports: [
    ScheduleModule.forRoot(),
    TypeOrmModule.forRootAsync({
      useFactory: () => ({ type: 'mysql' as const, url: readConfig().databaseUrl, autoLoadEntities: true }),
    }),
    RedisLockModule.forRootAsync({
      useFactory: () => {
        const { redisUrl, redisPrefix } = readConfig();
        return { connection: redisUrl, prefix: `${redisPrefix}:lock` };
      },
    }),
    StatsModule,
    SeckillModule,
    OrdersModule,
    StockModule,
    ReportModule,
  ],
  providers: [
    SchemaService,
    { provide: APP_PIPE, useFactory: () => new ValidationPipe({ whitelist: true, forbidNonWhitelisted: true }) },
  ],
})
export class AppModule {}
