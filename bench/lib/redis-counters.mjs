import { Redis } from 'ioredis';

// What the measuring itself sends.
const ours = new Set(['info', 'flushall']);

/**
 * @typedef {object} Counters
 * @property {Map<string, number>} calls by command
 * @property {number} cpuMs of the main thread
 */

/** Reads what the server has counted. */
export class RedisCounters {
  #redis;
  #nested;

  /**
   * @param {string} url
   * @param {readonly string[]} nested the commands that this competitor sends from inside of its scripts only. The
   *   server counts them like all others, but they are no requests.
   */
  constructor(url, nested) {
    this.#redis = new Redis(url);
    this.#nested = new Set(nested);
  }

  async flush() {
    await this.#redis.flushall();
  }

  /** @returns {Promise<Counters>} */
  async read() {
    const text = `${await this.#redis.info('commandstats')}\n${await this.#redis.info('cpu')}`;
    /** @type {Counters['calls']} */
    const calls = new Map();
    for (const [, name = '', count] of text.matchAll(/^cmdstat_([^:|]+)(?:\|[^:]+)?:calls=(\d+)/gm)) {
      if (!ours.has(name)) calls.set(name, (calls.get(name) ?? 0) + Number(count));
    }
    const seconds = [...text.matchAll(/^used_cpu_(?:sys|user)_main_thread:([\d.]+)/gm)];
    return { calls, cpuMs: seconds.reduce((sum, [, value]) => sum + 1_000 * Number(value), 0) };
  }

  /**
   * @param {Counters} before
   * @param {Counters} after
   */
  between(before, after) {
    const count = (/** @type {string} */ name) => (after.calls.get(name) ?? 0) - (before.calls.get(name) ?? 0);
    const names = [...after.calls.keys()];
    return {
      requests: names.filter((name) => !this.#nested.has(name)).reduce((sum, name) => sum + count(name), 0),
      publishes: count('publish') + count('spublish'),
      redisCpuMs: after.cpuMs - before.cpuMs,
    };
  }

  close() {
    this.#redis.disconnect();
  }
}
