// Sees to it that nothing of a private server is left, however this process ends: a handler in here would not run
// after SIGKILL. So a shell waits at the end of a pipe. When the pipe closes it kills the server that it was told
// of last, and deletes the folder.
import { spawn } from 'node:child_process';
import { once } from 'node:events';

const script = `
while read -r line; do pid=$line; done
[ -z "$pid" ] || kill -9 "$pid"
rm -rf "$1" || { sleep 1; rm -rf "$1"; }`;

export class Janitor {
  #shell;
  #exited;

  /** @param {string} folder deleted at the end, with all that is in it */
  constructor(folder) {
    // Detached: a Ctrl-C in the terminal must not reach the one who cleans up after it.
    this.#shell = spawn('/bin/sh', ['-c', script, 'janitor', folder], {
      stdio: ['pipe', 'ignore', 'ignore'],
      detached: true,
      cwd: '/',
    });
    this.#shell.unref();
    const pipe = /** @type {import('node:net').Socket} */ (this.#shell.stdin);
    pipe.unref();
    pipe.on('error', () => {}); // somebody killed the shell: nothing to tell it any more
    this.#exited = once(this.#shell, 'exit');
  }

  /** @param {number | undefined} pid the process to kill at the end; undefined when it has ended */
  watch(pid) {
    this.#shell.stdin?.write(`${pid ?? ''}\n`);
  }

  /** Does now what it does at the end, and returns when it is done. */
  async finish() {
    this.#shell.ref();
    this.#shell.stdin?.end();
    await this.#exited;
  }
}
