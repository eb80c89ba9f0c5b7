import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './free-port.mjs';
import { Janitor } from './janitor.mjs';

const readyWithinMs = 30_000;
const endsWithinMs = 5_000;
const attempts = 5;

/** Servers refuse to run as root unless told so. */
export const userArgs = process.getuid?.() === 0 ? ['--user=root'] : [];

/**
 * A private server: a process with a port and a temporary folder of its own, of which nothing is left behind, not
 * even when our own process is killed. A server that nobody stopped does not keep our process alive.
 */
export class ServerProcess {
  /** @type {import('node:child_process').ChildProcess | undefined} undefined while it does not run */
  #child;
  #output = '';
  /** @type {Promise<void> | undefined} */
  #stopping;
  #janitor;

  /** @param {number} port */
  constructor(port) {
    this.port = port;
    // A short path: a socket's path has room for about 100 characters, and macOS' own folder takes half of them.
    this.directory = mkdtempSync(join(tmpdir().length < 60 ? tmpdir() : '/tmp', 'redis-lock-'));
    this.#janitor = new Janitor(this.directory);
  }

  get pid() {
    return this.#child?.pid;
  }

  /** What it printed since it was started last: the last 20,000 characters. */
  get output() {
    return this.#output;
  }

  /**
   * How it is started, and what it prints once it accepts commands.
   *
   * @protected
   * @returns {{ program: string, args: string[], ready: RegExp, env?: NodeJS.ProcessEnv }} `env`: beside our own
   */
  command() {
    throw new Error('Not implemented');
  }

  /** Starts it, and returns when it accepts commands. */
  async start() {
    if (this.#stopping || this.#child) throw new Error(`The server at port ${this.port} runs, or was stopped for good`);
    const { program, args, ready, env } = this.command();
    // Detached: Ctrl-C in a terminal goes to us alone, so that we can finish our work before the servers end.
    const child = spawn(program, args, {
      cwd: this.directory,
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    });
    this.#child = child;
    this.#output = '';
    this.#janitor.watch(child.pid);
    child.unref();
    child.once('exit', () => {
      this.#child = undefined;
      this.#janitor.watch(undefined);
    });
    const closed = once(child, 'close');
    /** @type {Promise<void>} */
    const accepting = new Promise((resolve) => {
      for (const stream of [child.stdout, child.stderr]) {
        /** @type {import('node:net').Socket} */ (stream).unref();
        stream.on('data', (/** @type {Buffer} */ chunk) => {
          this.#output = `${this.#output}${chunk.toString()}`.slice(-20_000);
          if (ready.test(this.#output)) resolve();
        });
      }
    });
    let why = 'ended';
    const timer = setTimeout(() => {
      why = `was not ready after ${readyWithinMs / 1000} s`;
      child.kill('SIGKILL');
    }, readyWithinMs);
    try {
      const exit = await Promise.race([accepting, closed]);
      if (exit) throw new Error(`${program} ${why} (${exit[1] ?? `code ${exit[0]}`})\n${this.#output}`);
    } catch (error) {
      this.#child = undefined;
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  /** Stops its clock, so to say: it answers nothing until `resume`. Connections stay open. */
  pause() {
    this.#child?.kill('SIGSTOP');
  }

  resume() {
    this.#child?.kill('SIGCONT');
  }

  /** Kills it without any warning, and returns when it is gone. Its port and its folder stay: see `restart`. */
  async kill() {
    await this.#end('SIGKILL');
  }

  /** Starts it again in the same folder, at the same port; what it kept in memory is lost. */
  async restart() {
    await this.kill();
    await this.start();
  }

  /** Ends it for good, and deletes its folder. May be called at any time and any number of times. */
  stop() {
    this.#stopping ??= this.#end('SIGTERM').then(() => this.#janitor.finish());
    return this.#stopping;
  }

  [Symbol.asyncDispose]() {
    return this.stop();
  }

  /** @param {NodeJS.Signals} signal */
  async #end(signal) {
    const child = this.#child;
    if (!child) return;
    child.ref();
    const exited = once(child, 'exit');
    child.kill('SIGCONT');
    child.kill(signal);
    const timer = setTimeout(() => child.kill('SIGKILL'), endsWithinMs);
    await exited;
    clearTimeout(timer);
  }
}

/**
 * Starts a server at a free port; takes another one when somebody was faster.
 *
 * @template {ServerProcess} T
 * @param {(port: number) => T} create
 * @param {number} [port] this one and no other
 * @param {(server: T) => Promise<void>} [prepare] its folder, before it is started
 * @returns {Promise<T>}
 */
export async function startServer(create, port, prepare) {
  for (let attempt = 1; ; attempt++) {
    const server = create(port ?? (await freePort()));
    try {
      await prepare?.(server);
      await server.start();
      return server;
    } catch (error) {
      await server.stop();
      const taken = /address already in use/i.test(server.output);
      if (!taken || port !== undefined || attempt === attempts) throw error;
    }
  }
}
