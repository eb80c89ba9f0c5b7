import type { INestApplication } from '@nestjs/common';
import { LockService } from 'nestjs-redis-lock';
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { waitFor } from '../../support/wait-for.js';

/** What a route answered, read to its end. */
export interface Answer {
  status: number;
  headers: Headers;
  text: string;
  /** The parsed body; undefined when it is no JSON. */
  json: unknown;
}

/** A Nest application that listens, and its clients. */
export class TestServer {
  readonly locks: LockService;
  private readonly sockets = new Set<Socket>();
  private gone = 0;
  private readonly clients: AbortController[] = [];

  constructor(
    readonly app: INestApplication,
    readonly url: string,
  ) {
    this.locks = app.get(LockService);
    (app.getHttpServer() as Server).on('connection', (socket) => {
      this.sockets.add(socket);
      socket.once('close', () => {
        this.sockets.delete(socket);
        this.gone++;
      });
    });
  }

  async get(path: string, init: RequestInit = {}): Promise<Answer> {
    return read(await fetch(this.url + path, init));
  }

  async post(path: string, body: unknown = {}, headers: Record<string, string> = {}): Promise<Answer> {
    return this.get(path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });
  }

  /** Opens a stream: the answer has begun when this returns. */
  async open(path: string): Promise<OpenStream> {
    const { client, response } = this.begin(path);
    const { status, body } = await response;
    if (!body) throw new Error(`${path} answered ${status} without a body`);
    return new OpenStream(status, body, client);
  }

  /** Sends a request whose answer nobody reads, because the client may go away. */
  begin(path: string, init: RequestInit = {}): { client: AbortController; response: Promise<Response> } {
    const client = new AbortController();
    this.clients.push(client);
    const response = fetch(this.url + path, { ...init, signal: client.signal });
    response.catch(() => undefined);
    return { client, response };
  }

  /** Lets a client go away, and waits until the server has noticed. */
  async abandon(client: AbortController): Promise<void> {
    const before = this.gone;
    client.abort();
    await waitFor(() => this.gone > before, { what: 'the server has noticed that its client is gone' });
  }

  /** Every client goes away. */
  hangUp(): void {
    for (const client of this.clients) client.abort();
    for (const socket of this.sockets) socket.destroy();
  }
}

/** The body of an answer that comes in pieces. */
export class OpenStream {
  private readonly reader: ReadableStreamDefaultReader<Uint8Array>;
  private text = '';

  constructor(
    readonly status: number,
    body: ReadableStream<Uint8Array>,
    private readonly client: AbortController,
  ) {
    this.reader = body.getReader();
  }

  /** Reads on until the text is there. */
  async untilText(text: string): Promise<void> {
    while (!this.text.includes(text)) {
      const { done, value } = await this.reader.read();
      if (done) throw new Error(`The stream ended with ${JSON.stringify(this.text)} before ${JSON.stringify(text)}`);
      this.text += Buffer.from(value).toString();
    }
  }

  /** Reads to the end. */
  async rest(): Promise<string> {
    for (;;) {
      const { done, value } = await this.reader.read();
      if (done) return this.text;
      this.text += Buffer.from(value).toString();
    }
  }

  /** The client goes away. */
  leave(): void {
    this.client.abort();
  }
}

async function read(response: Response): Promise<Answer> {
  const { status, headers } = response;
  const text = await response.text();
  return { status, headers, text, json: parse(text) };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
