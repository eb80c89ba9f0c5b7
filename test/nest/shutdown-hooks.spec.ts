import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { describeWithRedis } from '../support/redis.js';
import { NestFixture } from './support/nest-fixture.js';

describeWithRedis('The warning about shutdown hooks', () => {
  const fixture = NestFixture.use();
  const environment = process.env['NODE_ENV'];
  const listeners = process.listeners('SIGTERM');

  beforeEach(() => {
    process.removeAllListeners('SIGTERM');
  });

  afterEach(() => {
    process.env['NODE_ENV'] = environment;
    process.removeAllListeners('SIGTERM');
    for (const listener of listeners) process.on('SIGTERM', listener);
  });

  async function warningsOfStart(nodeEnv: string | undefined, hooks: boolean): Promise<string[]> {
    if (nodeEnv === undefined) delete process.env['NODE_ENV'];
    else process.env['NODE_ENV'] = nodeEnv;
    @Module({ imports: [fixture.lockModule()] })
    class AppModule {}
    const app = await NestFactory.create(AppModule, { logger: fixture.logs });
    fixture.closeLater(() => app.close());
    if (hooks) app.enableShutdownHooks();
    await app.listen(0, '127.0.0.1');
    return fixture.logs.of('warn').filter((line) => line.includes('SIGTERM'));
  }

  test.each(['production', 'development', undefined])(
    'NODE_ENV %s and no hooks → one, with the remedy',
    async (nodeEnv) => {
      const warnings = await warningsOfStart(nodeEnv, false);
      expect(warnings).toHaveLength(1);
      expect(warnings[0]).toContain('app.enableShutdownHooks()');
    },
  );

  test('hooks are on → none', async () => {
    expect(await warningsOfStart('production', true)).toEqual([]);
  });

  test('in tests → none', async () => {
    expect(await warningsOfStart('test', false)).toEqual([]);
  });
});
