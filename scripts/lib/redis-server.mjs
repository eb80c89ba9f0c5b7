import { findRedisServer } from './find-binary.mjs';
import { ServerProcess, startServer } from './server-process.mjs';

/** A Redis (or Valkey) of our own, that keeps nothing on disk. */
export class RedisServer extends ServerProcess {
  #program;
  #args;

  /**
   * @param {string} program
   * @param {number} port
   * @param {string[]} args
   */
  constructor(program, port, args) {
    super(port);
    this.#program = program;
    this.#args = args;
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
    };
  }
}

/**
 * Starts a private Redis and returns when it accepts commands.
 *
 * @param {object} [options]
 * @param {string[]} [options.args] more of `redis-server`'s arguments; they win over ours. Leave its log as it is: it
 *   says when the server is ready
 * @param {number} [options.port] default: a free one
 */
export function startRedis({ args = [], port } = {}) {
  const program = findRedisServer();
  if (!program) throw new Error('There is no redis-server (or valkey-server) here: run node scripts/setup.mjs');
  return startServer((free) => new RedisServer(program, free, args), port);
}
