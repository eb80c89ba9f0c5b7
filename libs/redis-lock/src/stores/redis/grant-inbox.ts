import type { Redis } from 'ioredis';
import type { LockLogger } from '../../lock/lock-events.js';
import { runOutsideScopes } from '../../lock/scope.js';
import { withTimeout } from '../../lock/timeout.js';
import type { GrantInbox, GrantListener } from '../lock-store.js';
import { inboxPrefix, keyOf } from './physical-key.js';
import type { RedisConnection } from './redis-connection.js';
import { closeRedis, openRedis, type RedisConnectionSource } from './redis-options.js';

export interface RedisGrantInboxOptions {
  readonly source: RedisConnectionSource;
  readonly prefix: string;
  readonly instance: string;
  readonly commandTimeoutMs: number;
  readonly logger: LockLogger;
  /** Where commands go. */
  readonly commands: RedisConnection;
  readonly listener: GrantListener;
}

/** The channel of one client, on a connection of its own, which is made when somebody waits for the first time. */
export class RedisGrantInbox implements GrantInbox {
  usable = true;
  private readonly channel: string;
  private redis: Redis | undefined;
  private connections = 0;
  private opening = false;
  private closed = false;

  constructor(private readonly options: RedisGrantInboxOptions) {
    this.channel = inboxPrefix(options.prefix) + options.instance;
  }

  get generation(): number {
    return this.connections + this.options.commands.generation;
  }

  open(): void {
    if (!this.usable || this.closed) return;
    if (!this.redis) this.redis = runOutsideScopes(() => this.connect());
    else if (this.redis.status === 'ready') void this.subscribe(this.redis);
  }

  async close(): Promise<void> {
    this.closed = true;
    if (this.redis) await closeRedis(this.redis, this.options.commandTimeoutMs);
  }

  private connect(): Redis {
    const redis = openRedis(this.options.source, this.options.commandTimeoutMs);
    // The connection for commands says what is wrong with Redis; here the same would be said twice.
    redis.on('error', () => undefined);
    redis.on('ready', () => void this.subscribe(redis));
    redis.on('close', () => this.connections++);
    redis.on('message', (_, message: string) => this.receive(message));
    return redis;
  }

  /** Subscribes, or makes sure of it: a server that dropped the subscription, or is gone unnoticed, is found out. */
  private async subscribe(redis: Redis): Promise<void> {
    if (this.opening) return;
    this.opening = true;
    const { commandTimeoutMs, commands, listener } = this.options;
    const { connections } = this;
    try {
      await withTimeout(redis.subscribe(this.channel), commandTimeoutMs, () => new Error('not answered'));
      await commands.askPermissionToPublish(this.channel);
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

  /** `<token> <member> <name of the lock>` */
  private receive(message: string): void {
    const [, token, member, name] = /^(\d+) (\S+) (.*)$/s.exec(message) ?? [];
    if (!member || !name) return;
    this.options.listener.granted({ key: keyOf(this.options.prefix, name), member, token: Number(token) });
  }
}

function isForbidden(error: unknown): error is Error {
  return error instanceof Error && /^(NOPERM|ERR unknown command)/i.test(error.message);
}
