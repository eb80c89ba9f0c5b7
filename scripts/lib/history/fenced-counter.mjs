import { Redis } from 'ioredis';

/**
 * A counter a key, which only the holder of the highest token that was ever seen there may use. To read leaves the token
 * behind as well: else the late write of an earlier holder would come between the read and the write of a later one.
 */
const SCRIPT = /* lua */ `
local counter, fence, value = KEYS[1], tonumber(ARGV[1]), ARGV[2]
if fence < tonumber(redis.call('HGET', counter, 'fence') or 0) then return false end
redis.call('HSET', counter, 'fence', ARGV[1])
if value then redis.call('HSET', counter, 'value', value) end
return tonumber(redis.call('HGET', counter, 'value') or 0)
`;

/** The name that its connection has in Redis. */
export const COUNTER_CLIENT = 'counter';

export class FencedCounter {
  /** @param {string} url */
  constructor(url) {
    this.redis = new Redis(url, { connectionName: COUNTER_CLIENT, disconnectTimeout: 50 });
  }

  /**
   * @param {string} key
   * @param {number} token
   * @returns {Promise<number | undefined>} undefined: a higher token was there
   */
  async read(key, token) {
    return this.#run(key, token);
  }

  /**
   * @param {string} key
   * @param {number} token
   * @param {number} value
   * @returns {Promise<'accepted' | 'rejected'>}
   */
  async write(key, token, value) {
    return (await this.#run(key, token, value)) === undefined ? 'rejected' : 'accepted';
  }

  /**
   * The value, whoever holds the lock.
   *
   * @param {string} key
   */
  async value(key) {
    return Number(await this.redis.hget(`counter:${key}`, 'value'));
  }

  close() {
    this.redis.disconnect();
  }

  /**
   * @param {string} key
   * @param {number[]} args
   */
  async #run(key, ...args) {
    const value = await this.redis.eval(SCRIPT, 1, `counter:${key}`, ...args);
    return value === null ? undefined : Number(value);
  }
}
