import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { freePort } from '../../scripts/lib/servers.mjs';

/** What passes: what clients say, what Redis answers, and all that it sends to a connection that has subscribed. */
export type Traffic = 'commands' | 'answers' | 'messages';

/** Stands between a client and a server of 127.0.0.1 and breaks what a network breaks. */
export class TcpProxy {
  private server: Server | undefined;
  private readonly clients = new Set<Socket>();
  private readonly lanes = new Set<Lane>();
  private readonly held = new Set<Traffic>();
  private readonly delays = new Map<Traffic, () => number>();
  private readonly counts = new Map<Traffic, number>();
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
    this.hold('answers', 'messages');
  }

  /** Sends on what was held, in its order. */
  releaseReplies(): void {
    this.release('answers', 'messages');
  }

  /** Keeps one kind of traffic here until `release`. */
  hold(...traffic: Traffic[]): void {
    for (const each of traffic) this.held.add(each);
  }

  /** Sends on what was held, each connection's in its order. */
  release(...traffic: Traffic[]): void {
    for (const each of traffic) this.held.delete(each);
    for (const lane of this.lanes) lane.flush();
  }

  /**
   * Makes one kind of traffic late from now on, by as many ms as it is told for each piece. A connection keeps its order,
   * so a piece also waits for those before it.
   */
  delay(traffic: Traffic, ms: () => number): void {
    this.delays.set(traffic, ms);
  }

  /**
   * Loses the next replies, as when a connection breaks between a command and its reply: each takes its connection
   * with it. What the server sends at once (a pipeline's replies, most likely) counts as one.
   */
  dropReplies(count = 1): void {
    this.repliesToDrop += count;
  }

  /** How many pieces of one kind were sent on. */
  passed(traffic: Traffic): number {
    return this.counts.get(traffic) ?? 0;
  }

  close(): void {
    this.refuse();
    this.cut();
  }

  private join(client: Socket): void {
    const upstream = connect({ port: this.targetPort, host: '127.0.0.1', noDelay: true });
    let subscribed = false;
    const commands = this.lane(() => 'commands', upstream);
    const replies = this.lane(() => (subscribed ? 'messages' : 'answers'), client);
    this.clients.add(client);
    client.on('data', (chunk) => {
      subscribed ||= chunk.includes('\r\nsubscribe\r\n');
      commands.push(chunk);
    });
    upstream.on('data', (chunk) => this.reply(client, replies, chunk));
    client
      .on('error', () => {})
      .once('close', () => {
        this.clients.delete(client);
        for (const lane of [commands, replies]) {
          lane.close();
          this.lanes.delete(lane);
        }
        upstream.destroy();
      });
    upstream.on('error', () => {}).once('close', () => client.destroy());
  }

  private lane(traffic: () => Traffic, to: Socket): Lane {
    const lane = new Lane({
      isHeld: () => this.held.has(traffic()),
      delayMs: () => this.delays.get(traffic())?.() ?? 0,
      send: (chunk) => {
        this.counts.set(traffic(), this.passed(traffic()) + 1);
        if (!to.destroyed) to.write(chunk);
      },
    });
    this.lanes.add(lane);
    return lane;
  }

  private reply(client: Socket, lane: Lane, chunk: Buffer): void {
    if (this.repliesToDrop > 0) {
      this.repliesToDrop--;
      client.destroy();
      return;
    }
    lane.push(chunk);
  }
}

interface LaneRules {
  isHeld(): boolean;
  delayMs(): number;
  send(chunk: Buffer): void;
}

/** One direction of one connection: what comes in goes out in its order, now or later. */
class Lane {
  private readonly pieces: { readonly chunk: Buffer; readonly dueAt: number }[] = [];
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly rules: LaneRules) {}

  push(chunk: Buffer): void {
    this.pieces.push({ chunk, dueAt: performance.now() + this.rules.delayMs() });
    this.flush();
  }

  flush(): void {
    clearTimeout(this.timer);
    for (let [first] = this.pieces; first && !this.rules.isHeld(); [first] = this.pieces) {
      const early = first.dueAt - performance.now();
      if (early > 0) {
        this.timer = setTimeout(() => this.flush(), Math.ceil(early));
        return;
      }
      this.pieces.shift();
      this.rules.send(first.chunk);
    }
  }

  close(): void {
    clearTimeout(this.timer);
    this.pieces.length = 0;
  }
}
