import type { Redis } from 'ioredis';

/**
 * A shop whose data is in Redis, so that all nodes see it. Every method looks first and writes then: without a lock
 * around it, two callers see the same.
 */
export class Shop {
  constructor(
    private readonly redis: Redis,
    private readonly name: string,
  ) {}

  /** One order a user. */
  async orderOnce(user: string): Promise<boolean> {
    if (await this.redis.sismember(`${this.name}:buyers`, user)) return false;
    await this.redis.multi().sadd(`${this.name}:buyers`, user).rpush(`${this.name}:orders`, user).exec();
    return true;
  }

  async orders(): Promise<string[]> {
    return this.redis.lrange(`${this.name}:orders`, 0, -1);
  }

  /** Looks whether there is one left, and takes it. */
  async take(product: string): Promise<boolean> {
    if ((await this.stock(product)) <= 0) return false;
    await this.redis.decr(`${this.name}:stock:${product}`);
    return true;
  }

  /** Reads, subtracts and writes. */
  async subtract(product: string): Promise<boolean> {
    const left = await this.stock(product);
    if (left <= 0) return false;
    await this.putIn(product, left - 1);
    return true;
  }

  /** The same in one step, as `UPDATE … SET stock = stock - 1 WHERE id = ? AND stock > 0`. */
  async takeAtOnce(product: string): Promise<boolean> {
    const script = `
      if tonumber(redis.call('GET', KEYS[1]) or 0) <= 0 then return 0 end
      redis.call('DECR', KEYS[1])
      return 1`;
    return (await this.redis.eval(script, 1, `${this.name}:stock:${product}`)) === 1;
  }

  async putIn(product: string, stock: number): Promise<void> {
    await this.redis.set(`${this.name}:stock:${product}`, stock);
  }

  async stock(product: string): Promise<number> {
    return Number(await this.redis.get(`${this.name}:stock:${product}`));
  }

  /** Writes whatever the token. */
  async write(value: string): Promise<void> {
    await this.redis.hset(`${this.name}:page`, 'value', value);
  }

  /** Writes unless a later holder of the lock has written: compared and written in one step. */
  async writeFenced(value: string, token: number): Promise<boolean> {
    const script = `
      if tonumber(redis.call('HGET', KEYS[1], 'fence') or 0) > tonumber(ARGV[2]) then return 0 end
      redis.call('HSET', KEYS[1], 'value', ARGV[1], 'fence', ARGV[2])
      return 1`;
    return (await this.redis.eval(script, 1, `${this.name}:page`, value, token)) === 1;
  }

  async page(): Promise<string | null> {
    return this.redis.hget(`${this.name}:page`, 'value');
  }
}
