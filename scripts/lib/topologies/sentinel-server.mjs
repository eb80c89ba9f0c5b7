import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ServerProcess } from '../server-process.mjs';

/**
 * @typedef {object} Watched
 * @property {string} name
 * @property {number} port the master's
 * @property {number} quorum
 */

/** A Redis Sentinel of our own. What it learns it writes to its file, so it still knows it after `restart`. */
export class SentinelServer extends ServerProcess {
  #program;
  #watched;

  /**
   * @param {string} program
   * @param {number} port
   * @param {Watched} watched
   */
  constructor(program, port, watched) {
    super(port);
    this.#program = program;
    this.#watched = watched;
  }

  get #file() {
    return join(this.directory, 'sentinel.conf');
  }

  /** Writes the file that it starts with. */
  async prepare() {
    const { name, port, quorum } = this.#watched;
    const lines = [
      `port ${this.port}`,
      'bind 127.0.0.1',
      'daemonize no',
      `dir ${this.directory}`,
      `sentinel monitor ${name} 127.0.0.1 ${port} ${quorum}`,
      `sentinel down-after-milliseconds ${name} 1000`,
      `sentinel failover-timeout ${name} 5000`,
    ];
    await writeFile(this.#file, `${lines.join('\n')}\n`);
  }

  /** @override */
  command() {
    return { program: this.#program, args: [this.#file, '--sentinel'], ready: /Sentinel ID is/ };
  }
}
