import 'reflect-metadata';
import { Logger } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { AppModule } from './app.module.js';
import { readConfig } from './config.js';

const app = await NestFactory.create(AppModule);
// Without the hooks a SIGTERM would end the process in the middle of what it does under a lock.
app.enableShutdownHooks();
await app.listen(readConfig().port);
new Logger('FlashSale').log(`Listening on ${await app.getUrl()}`);
