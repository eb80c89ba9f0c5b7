import { clockOffsetEnv, forgetSharedClock } from './clock-offset.mjs';
import { findRedisServer } from './find-binary.mjs';
import { ServerProcess, startServer } from './server-process.mjs';

/** A Redis (or Valkey) of our own, that keeps nothing on disk. */
export class RedisServer extends ServerProcess {
  #program;
  #args;
  #clockOffset;

  /**
   * @param {string} program
   * @param {number} port
   * @param {string[]} args
   * @param {string} [clockOffset]
   */
  constructor(program, port, args, clockOffset) {
    super(port);
    this.#program = program;
    this.#args = args;
    this.#clockOffset = clockOffset;
  }

  get url() {
    return `redis://127.0.0.1:${this.port}`;
  }

  /** @override */
  command() {
    const own = `--port ${this.port} --bind 127.0.0.1 --appendonly no --daemonize no --maxmemory-policy noeviction`;
    return {
      program: this.#program,
      args: [...own.split(' '), '--save', '', ...this.#args],
      ready: /Ready to accept connections/,
      env: this.#clockOffset === undefined ? undefined : clockOffsetEnv(this.#clockOffset),
    };
  }

  /** @override */
  async start() {
    await super.start();
    if (this.#clockOffset !== undefined) forgetSharedClock(this.pid);
  }
}

/**
 * @typedef {object} StartRedisOptions
 * @property {string[]} [args] more of `redis-server`'s arguments; they win over ours. Leave its log as it is: it says
 *   when the server is ready
 * @property {number} [port] default: a free one
 * @property {string} [program] another server's program, such as `findValkeyServer()`
 * @property {string} [clockOffset] how far its wall clock is off, such as `+30s`; its monotonic clock is
 *   not. For `redis-server` only: Valkey mixes two allocators' memory then
 */

/**
 * Starts a private Redis and returns when it accepts commands.
 *
 * @param {StartRedisOptions} [options]
 */
export async function startRedis({ args = [], port, program = findRedisServer(), clockOffset } = {}) {
  if (!program) throw new Error('There is no redis-server (or valkey-server) here: run node scripts/setup.mjs');
  return startServer((free) => new RedisServer(program, free, args, clockOffset), port);
}
