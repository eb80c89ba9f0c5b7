import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { freePort } from '../../scripts/lib/servers.mjs';

/** Stands between a client and a server of 127.0.0.1 and breaks what a network breaks. */
export class TcpProxy {
  private server: Server | undefined;
  private readonly clients = new Set<Socket>();
  private held: (() => void)[] | undefined;
  private repliesToDrop = 0;

  private constructor(
    private readonly targetPort: number,
    readonly port: number,
  ) {}

  static async listen(targetPort: number): Promise<TcpProxy> {
    const proxy = new TcpProxy(targetPort, await freePort());
    await proxy.accept();
    return proxy;
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  /** How many clients are connected. */
  get connections(): number {
    return this.clients.size;
  }

  /** Breaks all connections; new ones are welcome. */
  cut(): void {
    for (const client of this.clients) client.destroy();
  }

  /** From now on nobody can connect (ECONNREFUSED); connections that are there stay. */
  refuse(): void {
    this.server?.close();
    this.server = undefined;
  }

  /** Takes connections again after `refuse`. */
  async accept(): Promise<void> {
    if (this.server) return;
    this.server = createServer({ noDelay: true }, (client) => this.join(client)).listen(this.port, '127.0.0.1');
    await once(this.server, 'listening');
  }

  /** Commands still reach the server, but what it says stays here until `releaseReplies`. */
  holdReplies(): void {
    this.held ??= [];
  }

  /** Sends on what was held, in its order. */
  releaseReplies(): void {
    const held = this.held ?? [];
    this.held = undefined;
    for (const send of held) send();
  }

  /**
   * Loses the next replies, as when a connection breaks between a command and its reply: each takes its connection
   * with it. What the server sends at once (a pipeline's replies, most likely) counts as one.
   */
  dropReplies(count = 1): void {
    this.repliesToDrop += count;
  }

  close(): void {
    this.refuse();
    this.cut();
  }

  private join(client: Socket): void {
    const upstream = connect({ port: this.targetPort, host: '127.0.0.1', noDelay: true });
    this.clients.add(client);
    client.on('data', (chunk) => upstream.write(chunk));
    upstream.on('data', (chunk) => this.reply(client, chunk));
    client
      .on('error', () => {})
      .once('close', () => {
        this.clients.delete(client);
        upstream.destroy();
      });
    upstream.on('error', () => {}).once('close', () => client.destroy());
  }

  private reply(client: Socket, chunk: Buffer): void {
    if (this.repliesToDrop > 0) {
      this.repliesToDrop--;
      client.destroy();
      return;
    }
    const send = () => {
      if (!client.destroyed) client.write(chunk);
    };
    if (this.held) this.held.push(send);
    else send();
  }
}
