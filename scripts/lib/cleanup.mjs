/** What has to end or to be deleted when a program is over, the newest first. */
export class Cleanup {
  /** @type {(() => unknown)[]} */
  #tasks = [];
  /** @type {Promise<void> | undefined} */
  #running;

  /** @param {() => unknown} task may return a promise */
  add(task) {
    if (this.started) throw new Error('This program is being stopped');
    this.#tasks.push(task);
  }

  get started() {
    return this.#running !== undefined;
  }

  /** May be called at any time and any number of times. A task that fails does not keep the others from being done. */
  run() {
    this.#running ??= this.#run();
    return this.#running;
  }

  async #run() {
    for (let task = this.#tasks.pop(); task; task = this.#tasks.pop()) {
      try {
        await task();
      } catch (error) {
        console.error(error);
        process.exitCode = 1;
      }
    }
  }
}

/**
 * Cleans up when somebody ends the program. SIGKILL leaves nothing either: see end-with-parent.mjs for the nodes, and
 * the servers have a guard of their own.
 *
 * @param {Cleanup} cleanup
 */
export function cleanUpOnSignals(cleanup) {
  const end = (/** @type {number} */ code) => void cleanup.run().finally(() => process.exit(code));
  process
    .on('SIGHUP', () => end(129))
    .on('SIGINT', () => end(130))
    .on('SIGTERM', () => end(143));
  if (process.env.npm_lifecycle_event === undefined) return;
  // npm passes a signal on to the shell that it started us with, and that shell dies without telling us.
  const shell = process.ppid;
  setInterval(() => process.ppid === shell || end(143), 500).unref();
}
