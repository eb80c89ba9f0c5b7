import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { UnavailableError } from '../competitors/unavailable.mjs';
import { startChild } from './start-child.mjs';

/**
 * @typedef {object} WorkerSide what a worker process says and hears
 * @property {(name: string, value?: unknown) => void} send
 * @property {(name: string) => Promise<void>} told
 */

/** Processes that do the same at the same time. */
export class Workers {
  #children;
  #failed;

  /**
   * @param {number} count
   * @param {import('./start-child.mjs').Job} job
   */
  constructor(count, job) {
    this.#children = Array.from({ length: count }, () => startChild({ ...job, role: 'worker' }));
    /** @type {Promise<never>} */
    this.#failed = new Promise((_, reject) => {
      for (const child of this.#children) {
        child.on('message', (/** @type {{ error?: Error, unavailable?: string }} */ { error, unavailable }) => {
          if (error) reject(error);
          if (unavailable !== undefined) reject(new UnavailableError(unavailable));
        });
        child.once('exit', () => reject(new Error('A process ended too early')));
      }
    });
    this.#failed.catch(() => {}); // they may also end when nobody asks any more
  }

  /** @param {string} name */
  send(name) {
    for (const child of this.#children) child.send({ name });
  }

  /**
   * Waits until each of them has said it.
   *
   * @param {string} name
   * @returns {Promise<unknown[]>}
   */
  async all(name) {
    const said = this.#children.map(async (child) => {
      for (;;) {
        const [message] = await once(child, 'message');
        if (message.name === name) return message.value;
      }
    });
    return Promise.race([Promise.all(said), this.#failed]);
  }

  /** @param {number} ms */
  async during(ms) {
    await Promise.race([delay(ms), this.#failed]);
  }

  stop() {
    for (const child of this.#children) child.kill('SIGKILL');
  }
}

/** @returns {WorkerSide} */
export function workerSide() {
  return {
    send: (name, value) => process.send?.({ name, value }),
    async told(name) {
      for (;;) {
        const [message] = await once(process, 'message');
        if (message.name === name) return;
      }
    },
  };
}
