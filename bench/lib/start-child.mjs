import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/**
 * @typedef {object} Job what a process of the benchmark is to do
 * @property {string} url of Redis
 * @property {string} lib
 * @property {number} retryMs
 * @property {boolean} quick
 * @property {string} work
 * @property {string} competitor
 * @property {string[]} nested see RedisCounters
 * @property {'round' | 'worker'} [role]
 */

const script = fileURLToPath(new URL('child.mjs', import.meta.url));

/** @type {Set<import('node:child_process').ChildProcess>} */
const running = new Set();
let over = false;

/** Ends all of them, and starts no more. */
export function stopChildren() {
  over = true;
  for (const child of running) child.kill('SIGKILL');
}

/** @param {Job} job */
export function startChild(job) {
  if (over) throw new Error('The benchmark is being stopped');
  const child = fork(script, [JSON.stringify(job)], {
    execArgv: ['--expose-gc'],
    serialization: 'advanced', // typed arrays
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  running.add(child);
  child.once('exit', () => running.delete(child));
  return child;
}
