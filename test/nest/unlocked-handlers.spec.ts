import { expect, test } from '@jest/globals';
import { Controller, Get, HttpException, Sse, StreamableFile } from '@nestjs/common';
import { of, type Observable } from 'rxjs';
import { Readable } from 'node:stream';
import { describeWithRedis } from '../support/redis.js';
import { NestFixture, PLATFORMS } from './support/nest-fixture.js';

@Controller()
class Unlocked {
  @Get('text')
  text(): string {
    return 'text';
  }

  @Get('object')
  async object(): Promise<object> {
    return { object: true };
  }

  @Get('nothing')
  nothing(): void {}

  @Get('observable')
  observable(): Observable<number[]> {
    return of([1], [2]);
  }

  @Get('generator')
  *generator(): Generator<string> {
    yield 'one ';
    yield 'two';
  }

  @Get('async-generator')
  async *asyncGenerator(): AsyncGenerator<string> {
    yield 'one ';
    yield 'two';
  }

  @Get('failing-generator')
  async *failingGenerator(): AsyncGenerator<string> {
    yield* [];
    throw new HttpException('no rows', 418);
  }

  @Get('readable')
  readable(): Readable {
    return Readable.from(['one ', 'two']);
  }

  @Get('file')
  file(): StreamableFile {
    return new StreamableFile(Buffer.from('file'));
  }

  @Get('web')
  web(): Response {
    return new Response('web', { status: 203 });
  }

  @Get('error')
  async error(): Promise<never> {
    throw new HttpException('teapot', 418);
  }

  @Sse('events')
  events(): Observable<string> {
    return of('one', 'two');
  }
}

const ROUTES = [
  'text',
  'object',
  'nothing',
  'observable',
  'generator',
  'async-generator',
  'failing-generator',
  'readable',
  'file',
  'web',
  'error',
  'events',
];

describeWithRedis('Handlers without a lock', () => {
  const fixture = NestFixture.use();

  for (const platform of PLATFORMS) {
    test.each(ROUTES)(`%s on ${platform} → answered as without the interceptor of this library`, async (route) => {
      const [withIt, without] = [
        await fixture.server({ controllers: [Unlocked], platform }),
        await fixture.server({ controllers: [Unlocked], platform, lock: { http: false } }),
      ];
      const [answer, plain] = [await withIt.get(`/${route}`), await without.get(`/${route}`)];
      expect(answer).toMatchObject({ status: plain.status, text: plain.text });
      expect(answer.headers.get('content-type')).toBe(plain.headers.get('content-type'));
    });
  }
});
