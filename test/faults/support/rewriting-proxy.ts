import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server } from 'node:net';
import { Transform, type TransformCallback } from 'node:stream';

/** Stands between clients and a Redis and puts one text for another in what it answers; both are of the same length. */
export class RewritingProxy {
  private constructor(private readonly server: Server) {}

  static async listen(targetPort: number, from: string, to: () => string): Promise<RewritingProxy> {
    const server = createServer({ noDelay: true }, (client) => {
      const upstream = connect({ port: targetPort, host: '127.0.0.1', noDelay: true });
      const rewriting = new Transform({
        transform(chunk: Buffer, _: BufferEncoding, done: TransformCallback): void {
          done(null, Buffer.from(chunk.toString('latin1').replaceAll(from, to()), 'latin1'));
        },
      });
      client.pipe(upstream).pipe(rewriting).pipe(client);
      for (const [one, other] of [[client, upstream] as const, [upstream, client] as const]) {
        one.on('error', () => {}).once('close', () => other.destroy());
      }
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new RewritingProxy(server);
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  close(): void {
    this.server.close();
  }
}
