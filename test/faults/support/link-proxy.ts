import { afterEach } from '@jest/globals';
import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import type { LockClient, LockClientOptions } from 'nestjs-redis-lock';
import { freePort } from '../../../scripts/lib/servers.mjs';
import type { LockFixture } from '../../cases/support/lock-fixture.js';

/** A client has two connections: one for its commands, and one that is told of grants. */
export type LinkKind = 'commands' | 'inbox';

interface Link {
  /** What it is for shows when it has loaded scripts or subscribed. */
  kind: LinkKind | undefined;
  readonly client: Socket;
  readonly upstream: Socket;
  /** Its next answer is lost. */
  dropsNext: boolean;
  /** Half open: nothing gets through any more, and neither side notices. */
  frozen: boolean;
}

/** Stands between clients and a Redis, and tells their connections apart: each kind can be broken on its own. */
export class LinkProxy {
  private server: Server | undefined;
  private readonly links = new Set<Link>();
  private readonly held = new Map<LinkKind, (() => void)[]>();
  private readonly strays = new Set<Socket>();

  private constructor(
    private readonly targetPort: number,
    private readonly inboxPort: number,
    readonly port: number,
  ) {}

  /** @param inboxPort where all connections go but the first one, which is for commands. */
  static async listen(targetPort: number, inboxPort = targetPort): Promise<LinkProxy> {
    const proxy = new LinkProxy(targetPort, inboxPort, await freePort());
    await proxy.accept();
    return proxy;
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  count(kind: LinkKind): number {
    return this.of(kind).length;
  }

  /** Breaks the connections of this kind, or all. */
  cut(kind?: LinkKind): void {
    for (const { client } of this.of(kind)) client.destroy();
  }

  /** The connections that are there pass nothing on any more and stay open. */
  freeze(kind?: LinkKind): void {
    for (const link of this.of(kind)) link.frozen = true;
  }

  /** What the server says over connections of this kind stays here until `letGo`. */
  hold(kind: LinkKind): void {
    this.held.set(kind, []);
  }

  letGo(kind: LinkKind): void {
    const held = this.held.get(kind) ?? [];
    this.held.delete(kind);
    for (const send of held) send();
  }

  /** Loses the next answer to a command, and its connection with it. A connection that is made later is spared. */
  dropReply(): void {
    for (const link of this.of('commands')) link.dropsNext = true;
  }

  /** New connections are refused. */
  refuse(): void {
    this.server?.close();
    this.server = undefined;
  }

  async accept(): Promise<void> {
    if (this.server) return;
    this.server = createServer({ noDelay: true }, (client) => this.join(client)).listen(this.port, '127.0.0.1');
    await once(this.server, 'listening');
  }

  close(): void {
    this.refuse();
    this.cut();
    for (const socket of this.strays) socket.destroy();
  }

  private of(kind?: LinkKind): Link[] {
    return [...this.links].filter((link) => kind === undefined || link.kind === kind);
  }

  private join(client: Socket): void {
    const port = this.links.size === 0 ? this.targetPort : this.inboxPort;
    const upstream = connect({ port, host: '127.0.0.1', noDelay: true });
    const link: Link = { kind: undefined, client, upstream, frozen: false, dropsNext: false };
    this.links.add(link);
    client.on('data', (chunk) => {
      link.kind ??= kindOf(chunk);
      if (!link.frozen) upstream.write(chunk);
    });
    upstream.on('data', (chunk) => this.answer(link, chunk));
    client
      .on('error', () => {})
      .once('close', () => {
        this.links.delete(link);
        // The server does not notice that a half-open connection has ended.
        if (link.frozen) this.strays.add(upstream);
        else upstream.destroy();
      });
    upstream.on('error', () => {}).once('close', () => link.frozen || client.destroy());
  }

  private answer(link: Link, chunk: Buffer): void {
    if (link.frozen) return;
    if (link.dropsNext && link.kind === 'commands') {
      link.client.destroy();
      return;
    }
    const send = (): void => {
      if (!link.client.destroyed && !link.frozen) link.client.write(chunk);
    };
    const held = link.kind && this.held.get(link.kind);
    if (held) held.push(send);
    else send();
  }
}

function kindOf(chunk: Buffer): LinkKind | undefined {
  const text = chunk.toString('latin1');
  if (/\r\nsubscribe\r\n/i.test(text)) return 'inbox';
  return /\r\nscript\r\n/i.test(text) ? 'commands' : undefined;
}

/** Makes clients behind a proxy of their own, which ends after the test. */
export function useLinkProxies(
  fixture: LockFixture,
): (options?: Partial<LockClientOptions>, inboxPort?: number) => Promise<{ proxy: LinkProxy; client: LockClient }> {
  const proxies: LinkProxy[] = [];
  afterEach(() => {
    for (const proxy of proxies.splice(0)) proxy.close();
  });
  return async (options = {}, inboxPort) => {
    const proxy = await LinkProxy.listen(fixture.server.port, inboxPort);
    proxies.push(proxy);
    const client = fixture.client({ connection: proxy.url, ...options });
    await fixture.connected(client);
    return { proxy, client };
  };
}
