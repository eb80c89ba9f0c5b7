import type { LockClient, LockClientOptions, LockHandle } from 'nestjs-redis-lock';
import type { LockFixture } from '../cases/support/lock-fixture.js';
import { connected } from '../support/connected.js';
import { newRedis, uniquePrefix } from '../support/redis.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { waitFor } from '../support/wait-for.js';
import { CriticalSection, type HoldRecord } from '../../scripts/lib/history/critical-section.mjs';
import type { PatchedCopy } from './patched-copy.js';

export const KEY = 'order';

/** A client and the network between it and Redis. */
export interface Actor {
  readonly client: LockClient;
  readonly network: TcpProxy;
}

/** Where clients of one copy of the library play a scenario under a prefix of their own. What they hold is recorded. */
export class Stage {
  readonly prefix = uniquePrefix();
  readonly records: HoldRecord[] = [];
  private readonly open = new Map<string, { lock: LockHandle; section: CriticalSection }>();
  private readonly disposers: (() => Promise<void> | void)[] = [];

  constructor(
    private readonly fixture: LockFixture,
    private readonly copy: PatchedCopy,
  ) {}

  /** The name of the lock in Redis. */
  get lock(): string {
    return `${this.prefix}:{${KEY}}`;
  }

  get redis(): LockFixture['redis'] {
    return this.fixture.redis;
  }

  /** A client behind a network of its own, with so much patience that only a scenario breaks its connections. */
  async actor(options: Partial<LockClientOptions> = {}): Promise<Actor> {
    const network = await TcpProxy.listen(this.fixture.server.port);
    const client = this.copy.library.createLockClient({
      connection: network.url,
      prefix: this.prefix,
      commandTimeout: '20s',
      shutdown: { drain: 0 },
      logger: { warn() {} },
      ...options,
    });
    this.disposers.push(async () => {
      network.release('commands', 'answers', 'messages');
      await client.close();
      network.close();
    });
    const actor = { client, network };
    await this.untilConnected(actor);
    return actor;
  }

  async untilConnected({ client }: Actor): Promise<void> {
    await connected(client);
  }

  /** A caller enters its critical section, as soon as it has the lock. */
  async enter(who: string, acquiring: Promise<LockHandle | null>): Promise<LockHandle | undefined> {
    const lock = await acquiring;
    if (!lock) return undefined;
    this.open.set(who, { lock, section: new CriticalSection(lock, who) });
    return lock;
  }

  /** The same for somebody of whom the scenario does not know whether it gets the lock. */
  waits(who: string, acquiring: Promise<LockHandle>): void {
    this.enter(who, acquiring).catch(() => undefined);
  }

  /** Its section ends; the lock is not released by that. */
  leave(who: string): void {
    const section = this.open.get(who)?.section;
    if (section) this.records.push(section.end());
    this.open.delete(who);
  }

  async leaveAndRelease(who: string): Promise<void> {
    const lock = this.open.get(who)?.lock;
    this.leave(who);
    await lock?.release();
  }

  async untilQueued(members: number): Promise<void> {
    await waitFor(async () => (await this.redis.zcard(`${this.lock}:queue`)) === members);
  }

  async untilListening(inboxes: number): Promise<void> {
    await waitFor(async () => (await this.redis.pubsub('CHANNELS', `${this.prefix}:inbox:*`)).length === inboxes);
  }

  /** Waits until nothing is on its way between an actor and Redis. */
  async untilQuiet({ client }: Actor): Promise<void> {
    for (let trips = 0; trips < 5; trips++) await client.isLocked('nothing on its way');
  }

  /** Does something, and waits until an actor has sent Redis a command after it, and has its answer. */
  async untilSent(actor: Actor, after: () => unknown = () => undefined): Promise<void> {
    const before = actor.network.passed('commands');
    await after();
    await waitFor(() => actor.network.passed('commands') > before);
    await this.untilQuiet(actor);
  }

  /** Waits for more turns than a message takes that a network has let through. */
  async untilReceived(): Promise<void> {
    const probe = newRedis(this.fixture.server.url);
    await probe.ping().finally(() => probe.disconnect());
  }

  /** Ends all sections and all clients. */
  async finish(): Promise<void> {
    for (const who of this.open.keys()) this.leave(who);
    await Promise.all(this.disposers.map(async (dispose) => dispose()));
  }
}
