import { spawn } from 'node:child_process';
import { once } from 'node:events';

const endWithParent = new URL('end-with-parent.mjs', import.meta.url).href;
const endsWithinMs = 15_000;

/** A Node process of the demo: the app's or the lock holder's. It ends with the demo, however that ends. */
export class Child {
  #process;
  #exited;

  /**
   * @param {string} script
   * @param {NodeJS.ProcessEnv} env on top of our own
   * @param {import('../lib/cleanup.mjs').Cleanup} cleanup
   */
  constructor(script, env, cleanup) {
    this.#process = spawn(process.execPath, ['--import', endWithParent, script], {
      env: { ...process.env, ...env, NO_COLOR: '1', FORCE_COLOR: undefined },
      stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    });
    this.#exited = once(this.#process, 'exit');
    cleanup.add(() => this.stop());
  }

  /**
   * Waits for something in what it prints.
   *
   * @param {RegExp} pattern
   * @returns {Promise<RegExpExecArray>}
   */
  async printed(pattern) {
    let output = '';
    const stdout = /** @type {import('node:stream').Readable} */ (this.#process.stdout);
    /** @type {Promise<RegExpExecArray>} */
    const found = new Promise((resolve) => {
      stdout.on('data', (chunk) => {
        const match = pattern.exec((output += chunk));
        if (match) resolve(match);
      });
    });
    const ended = this.#exited.then(([code, signal]) => {
      throw new Error(`A process of the demo ended too early (${signal ?? `code ${code}`})\n${output}`);
    });
    try {
      return await Promise.race([found, ended]);
    } finally {
      stdout.removeAllListeners('data').resume();
    }
  }

  /** SIGKILL: it can do nothing about it. */
  kill() {
    this.#process.kill('SIGKILL');
  }

  /** Lets it finish what it does, and returns when it has ended. May be called any number of times. */
  async stop() {
    this.#process.kill('SIGTERM');
    const timer = setTimeout(() => this.kill(), endsWithinMs);
    await this.#exited;
    clearTimeout(timer);
  }
}
