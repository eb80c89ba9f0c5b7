import type { Redis } from 'ioredis';
import type { LockLogger } from '../../lock/lock-events.js';
import { runOutsideScopes } from '../../lock/scope.js';
import { withTimeout } from '../../lock/timeout.js';
import type { GrantInbox, GrantListener } from '../lock-store.js';
import { inboxPrefix, keyOf } from './physical-key.js';
import { closeRedis } from './redis-options.js';
import type { Servers } from './servers.js';

export interface RedisGrantInboxOptions {
  readonly prefix: string;
  readonly instance: string;
  readonly commandTimeoutMs: number;
  readonly logger: LockLogger;
  readonly servers: Servers;
  readonly listener: GrantListener;
}

/** How long after its connection has ended for good the inbox is opened anew, in ms. */
const RECONNECT_MS = 100;

/** The channel of one client, on a connection of its own, which is made when somebody waits for the first time. */
export class RedisGrantInbox implements GrantInbox {
  usable = true;
  private readonly channel: string;
  private redis: Redis | undefined;
  private reconnecting: NodeJS.Timeout | undefined;
  private connections = 0;
  private opening = false;
  private closed = false;

  constructor(private readonly options: RedisGrantInboxOptions) {
    this.channel = inboxPrefix(options.prefix) + options.instance;
  }

  get generation(): number {
    return this.connections + this.options.servers.generation;
  }

  open(): void {
    if (!this.usable || this.closed) return;
    if (this.redis?.status === 'ready') return void this.subscribe(this.redis);
    if (this.redis || this.reconnecting) return;
    this.redis = runOutsideScopes(() => this.connect());
    if (!this.redis) this.openLater();
  }

  async close(): Promise<void> {
    this.closed = true;
    clearTimeout(this.reconnecting);
    if (this.redis) await closeRedis(this.redis, this.options.commandTimeoutMs);
  }

  private connect(): Redis | undefined {
    const redis = this.options.servers.openInbox();
    if (!redis) return undefined;
    // The connection for commands says what is wrong with Redis; here the same would be said twice.
    redis.on('error', () => undefined);
    redis.on('ready', () => void this.subscribe(redis));
    redis.on('close', () => this.connections++);
    redis.once('end', () => this.openLater());
    redis.on('message', (_, message: string) => this.receive(message));
    return redis;
  }

  /** Through another server, if there are several. */
  private openLater(): void {
    this.redis = undefined;
    if (this.closed) return;
    const ms = RECONNECT_MS * (0.5 + Math.random());
    runOutsideScopes(() => {
      this.reconnecting = setTimeout(() => {
        this.reconnecting = undefined;
        this.open();
      }, ms);
    });
  }

  /** Subscribes, or makes sure of it: a server that dropped the subscription, or is gone unnoticed, is found out. */
  private async subscribe(redis: Redis): Promise<void> {
    if (this.opening) return;
    this.opening = true;
    const { commandTimeoutMs, servers, listener } = this.options;
    const { connections } = this;
    try {
      await withTimeout(redis.subscribe(this.channel), commandTimeoutMs, () => new Error('not answered'));
      await servers.askPermissionToPublish(this.channel);
      if (!this.closed && connections === this.connections) listener.opened();
    } catch (error) {
      if (isForbidden(error)) this.refuse(error);
      else if (redis.status === 'ready' && !this.closed) redis.disconnect(true);
    } finally {
      this.opening = false;
      // The connection broke meanwhile, and the new one was ready too early.
      if (connections !== this.connections) this.open();
    }
  }

  private refuse(error: Error): void {
    if (this.closed) return;
    this.usable = false;
    this.options.logger.warn(
      `This user of Redis may not use pub/sub (${error.message}): waiting callers ask again and again instead of ` +
        `being told. Allow SUBSCRIBE, PUBLISH and the channels "${inboxPrefix(this.options.prefix)}*".`,
    );
    void this.close();
    this.options.listener.refused();
  }

  /** `<token> <member> <name of the lock>`; with shares the token is followed by `*<permits>`. */
  private receive(message: string): void {
    const [, token, permits, member, name] = /^(\d+)(?:\*(\d+))? (\S+) (.*)$/s.exec(message) ?? [];
    if (!member || !name) return;
    const grant = { key: keyOf(this.options.prefix, name), member, token: Number(token) };
    const share = permits && { permits: Number(permits), limit: Number(permits) };
    this.options.listener.granted(share ? { ...grant, share } : grant);
  }
}

function isForbidden(error: unknown): error is Error {
  return error instanceof Error && /^(NOPERM|ERR unknown command)/i.test(error.message);
}
