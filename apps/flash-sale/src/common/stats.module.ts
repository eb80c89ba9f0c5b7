import { Controller, Get, Global, Module } from '@nestjs/common';
import { StatsService } from './stats.service.js';

@Controller('stats')
class StatsController {
  constructor(private readonly stats: StatsService) {}

  @Get()
  read(): StatsService {
    return this.stats;
  }
}

@Global()
@Module({ controllers: [StatsController], providers: [StatsService], exports: [StatsService] })
export class StatsModule {}
