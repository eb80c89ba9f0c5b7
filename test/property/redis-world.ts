import type { Redis } from 'ioredis';
import type { LockStore } from 'nestjs-redis-lock';
import { RedisLockStore } from '../../libs/redis-lock/src/stores/redis/redis.store.js';
import { uniquePrefix } from '../support/redis.js';
import { COMMAND_TIMEOUT_MS, World } from './world.js';

/** Ends or deletes a lock, and says which fields were in it. */
const DELETE = `local fields = redis.call('HKEYS', KEYS[1]) redis.call('DEL', KEYS[1]) return fields`;
const EXPIRE = `local fields = redis.call('HKEYS', KEYS[1]) redis.call('PEXPIRE', KEYS[1], 1) return fields`;

/** One Redis, to which every client has connections of its own. */
export class RedisWorld extends World {
  private readonly prefix = uniquePrefix();

  constructor(
    private readonly url: string,
    /** The administrator's own connection. */
    private readonly redis: Redis,
  ) {
    super();
  }

  override async expire(key: string): Promise<number | undefined> {
    return tokenOf(await this.redis.eval(EXPIRE, 1, this.lock(key)));
  }

  override async deleteLock(key: string): Promise<number | undefined> {
    return tokenOf(await this.redis.eval(DELETE, 1, this.lock(key)));
  }

  override async deleteQueue(key: string): Promise<void> {
    await this.redis.del(`${this.lock(key)}:queue`);
  }

  override breakConnections(which: 'commands' | 'inboxes'): Promise<unknown> {
    const type = which === 'commands' ? 'normal' : 'pubsub';
    return this.redis.call('CLIENT', 'KILL', 'TYPE', type, 'SKIPME', 'yes');
  }

  override async flushScripts(): Promise<void> {
    await this.redis.script('FLUSH');
  }

  override async left(): Promise<string[]> {
    const fence = `${this.prefix}:fence`;
    return (await this.redis.keys(`${this.prefix}*`)).filter((key) => key !== fence);
  }

  protected override connect(): { store: LockStore; close(): Promise<void> } {
    const store = new RedisLockStore({
      connection: this.url,
      prefix: this.prefix,
      commandTimeoutMs: COMMAND_TIMEOUT_MS,
      logger: { warn: () => undefined },
    });
    return { store, close: async () => store.close() };
  }

  protected override async end(): Promise<void> {
    await this.redis.del(`${this.prefix}:fence`);
  }

  private lock(key: string): string {
    return `${this.prefix}:{${key}}`;
  }
}

function tokenOf(fields: unknown): number | undefined {
  const tokens = (fields as string[]).flatMap((field) => /\/(\d+)$/.exec(field)?.[1] ?? []);
  return tokens[0] === undefined ? undefined : Number(tokens[0]);
}
