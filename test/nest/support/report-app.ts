import { Controller, Get, Injectable, Next, Param, Post, Res, StreamableFile } from '@nestjs/common';
import { Locked, LockedHandler } from 'nestjs-redis-lock';
import type { ServerResponse } from 'node:http';
import { PassThrough, Readable } from 'node:stream';
import { deferred } from '../../support/wait-for.js';
import { recordEvents, type NestFixture, type Platform } from './nest-fixture.js';

type AnyResponse = ServerResponse | { raw: ServerResponse; hijack(): void };

@Injectable()
export class Reports {
  entered = deferred();
  leave = deferred();
  /** What the handlers of this test stream. */
  stream = new PassThrough();
  calls = 0;

  async work(): Promise<{ done: boolean }> {
    this.calls++;
    this.entered.resolve();
    await this.leave.promise;
    return { done: true };
  }

  async *chunks(): AsyncGenerator<string> {
    for await (const chunk of this.stream) yield String(chunk);
  }
}

@Controller()
export class ReportController {
  constructor(private readonly reports: Reports) {}

  @Post('plain/:id')
  @LockedHandler('report:<params.id>', { wait: '30s' })
  async plain(): Promise<object> {
    return this.reports.work();
  }

  @Post('locked/:id')
  @Locked('report:<id>', { wait: '30s' })
  async locked(@Param('id') id: string): Promise<object> {
    return { id, ...(await this.reports.work()) };
  }

  @Get('file/:id')
  @LockedHandler('report:<params.id>', { wait: 0 })
  async file(): Promise<StreamableFile> {
    return new StreamableFile(this.reports.stream);
  }

  @Get('res/:id')
  @LockedHandler('report:<params.id>', { wait: 0 })
  async res(@Res() response: AnyResponse): Promise<void> {
    if ('hijack' in response) response.hijack();
    this.reports.stream.pipe('raw' in response ? response.raw : response);
  }

  @Get('next/:id')
  @LockedHandler('report:<params.id>', { wait: 0 })
  async next(@Next() _next: unknown, @Res() response: AnyResponse): Promise<void> {
    return this.res(response);
  }

  @Get('passthrough/:id')
  @LockedHandler('report:<params.id>', { wait: 0 })
  async passthrough(@Res({ passthrough: true }) response: AnyResponse): Promise<object> {
    return { plain: true, destroyed: ('raw' in response ? response.raw : response).destroyed };
  }

  @Get('generator/:id')
  @LockedHandler('report:<params.id>', { wait: 0 })
  generator(): AsyncGenerator<string> {
    return this.reports.chunks();
  }

  @Get('readable/:id')
  @LockedHandler('report:<params.id>', { wait: 0 })
  async readable(): Promise<Readable> {
    return this.reports.stream;
  }

  @Get('web/:id')
  @LockedHandler('report:<params.id>', { wait: 0 })
  async web(): Promise<Response> {
    return new Response(Readable.toWeb(this.reports.stream) as ReadableStream);
  }
}

/** The application above, and what its locks tell. */
export async function startReports(fixture: NestFixture, platform: Platform) {
  const server = await fixture.server({ controllers: [ReportController], providers: [Reports], platform });
  const reports = server.app.get(Reports);
  fixture.closeLater(() => {
    reports.leave.resolve();
    reports.stream.end();
  });
  return {
    server,
    reports,
    acquired: recordEvents(server.locks, 'acquired'),
    released: recordEvents(server.locks, 'released'),
    refused: recordEvents(server.locks, 'refused'),
  };
}
