import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { clock } from '../lib/history/critical-section.mjs';
import { holdsOf } from '../lib/history/history.mjs';

const SCRIPT = fileURLToPath(new URL('../lib/history/worker.mjs', import.meta.url));

/** How long a process may take to end, and all of them to get to work on a busy machine, in ms. */
const ENDS_WITHIN_MS = 30_000;
const WORKS_WITHIN_MS = 120_000;

/** One process that takes locks again and again. */
class Worker {
  /** @type {{ readonly event: string }[]} */
  #said = [];
  #errors = '';
  /** @type {number | undefined} */
  #killedAt;

  /** @param {object} config see worker.mjs */
  constructor(config) {
    this.child = spawn(process.execPath, [SCRIPT, JSON.stringify(config)], { stdio: ['pipe', 'pipe', 'pipe'] });
    createInterface({ input: this.child.stdout }).on('line', (line) => this.#said.push(JSON.parse(line)));
    this.child.stderr.on('data', (chunk) => (this.#errors += String(chunk)));
    this.child.stdin.on('error', () => undefined); // it has ended
    this.ended = once(this.child, 'close');
  }

  kill() {
    this.child.kill('SIGCONT');
    this.child.kill('SIGKILL');
    this.#killedAt ??= clock();
  }

  /** Why it ended if that was not as it was told; undefined: all is well. */
  get crash() {
    const { exitCode } = this.child;
    if (this.#killedAt !== undefined || (exitCode === 0 && this.#errors === '')) return undefined;
    return this.#errors || `it ended with code ${exitCode}`;
  }

  get holds() {
    return holdsOf(this.#said, this.#killedAt);
  }
}

/** The processes of a run. */
export class Workers {
  #number = 0;
  /** Those that run. @type {Worker[]} */
  #running;
  /** All that have ever run. @type {Worker[]} */
  #all = [];
  #config;
  /** @type {string[]} */
  #stuck = [];

  /**
   * @param {number} count
   * @param {object} config of each, but for its name
   */
  constructor(count, config) {
    this.#config = config;
    this.#running = Array.from({ length: count }, () => this.#start());
  }

  #start() {
    const worker = new Worker({ ...this.#config, name: `process ${++this.#number}` });
    this.#all.push(worker);
    return worker;
  }

  /**
   * Kills a process, and starts another one in its place.
   *
   * @param {number} pick from 0 to 1
   */
  replace(pick) {
    const index = Math.floor(pick * this.#running.length);
    this.#running[index]?.kill();
    this.#running[index] = this.#start();
  }

  /**
   * Stops a process for a while.
   *
   * @param {number} pick from 0 to 1
   * @param {number} ms
   */
  async stop(pick, ms) {
    const { child } = this.#running[Math.floor(pick * this.#running.length)] ?? {};
    child?.kill('SIGSTOP');
    await sleep(ms);
    child?.kill('SIGCONT');
  }

  /** Waits until everybody who runs has held a lock. */
  async untilAllWork() {
    const deadline = performance.now() + WORKS_WITHIN_MS;
    while (!this.#running.every(({ holds }) => holds.length > 0)) {
      const crashed = this.#running.find(({ child, crash }) => child.exitCode !== null && crash);
      if (crashed) throw new Error(`A process has ended: ${crashed.crash}`);
      if (performance.now() > deadline)
        throw new Error(`Not every process has held a lock within ${WORKS_WITHIN_MS} ms`);
      await sleep(50);
    }
  }

  /** Ends all processes: each call under way may finish. */
  async finish() {
    await Promise.all(
      this.#running.map(async (worker) => {
        worker.child.stdin.write('finish\n');
        const ended = await Promise.race([worker.ended, sleep(ENDS_WITHIN_MS, undefined, { ref: false })]);
        if (ended === undefined) {
          this.#stuck.push(`a process did not end within ${ENDS_WITHIN_MS} ms`);
          worker.kill();
          await worker.ended;
        }
      }),
    );
  }

  /** At once, whatever they do. */
  kill() {
    for (const worker of this.#running) worker.kill();
  }

  get holds() {
    return this.#all.flatMap(({ holds }) => holds);
  }

  /** What no process may end with; a rejection that nobody handles ends it. */
  get crashes() {
    return [...this.#all.flatMap(({ crash }) => crash ?? []), ...this.#stuck];
  }
}
