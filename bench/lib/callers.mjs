import { setTimeout as delay } from 'node:timers/promises';
import { Exclusion } from './exclusion.mjs';

/** @typedef {import('../competitors/index.mjs').LockUser} LockUser */

/** By the clock that all processes of the machine share. */
const machineMs = () => Number(process.hrtime.bigint()) / 1e6;

/** Callers that acquire and release until they are stopped, and what they saw while they were recorded. */
export class Callers {
  ops = 0;
  /** also those that were not recorded */
  obtained = 0;
  failures = 0;
  /** @type {number[]} */
  waits = [];
  /** @type {number[]} waits of those who were alone although others may share the lock */
  aloneWaits = [];
  /** @type {number[]} begin, end and permits of each time that somebody was inside, by the machine's clock */
  held = [];

  #user;
  #holdMs;
  #limit;
  #exclusion;
  running = true;
  #recording = false;
  /** @type {Set<{ since: number }>} */
  #waiting = new Set();
  /** @type {Promise<void>[]} */
  #loops = [];

  /**
   * @param {LockUser} user
   * @param {number} [holdMs]
   * @param {number} [limit] how many permits a lock has
   */
  constructor(user, holdMs = 0, limit = 1) {
    this.#user = user;
    this.#holdMs = holdMs;
    this.#limit = limit;
    this.#exclusion = new Exclusion(limit);
  }

  /**
   * @param {number} count
   * @param {(caller: number, turn: number) => string} keyOf
   */
  start(count, keyOf) {
    this.#loops = Array.from({ length: count }, async (_, caller) => {
      for (let turn = 0; this.running; turn++) await this.#turn(keyOf(caller, turn));
    });
  }

  /**
   * Records for that long; ends early when a caller throws.
   *
   * @param {number} ms
   */
  async record(ms) {
    this.#recording = true;
    await this.during(ms);
    this.#recording = false;
    return { ops: this.ops };
  }

  /** @param {number} ms */
  async during(ms) {
    await Promise.race([delay(ms), Promise.all(this.#loops)]);
  }

  /** Those who wait now are not waited for: the process ends anyway. */
  stop() {
    this.running = false;
  }

  /** How long those have waited who wait now. */
  get waiting() {
    const now = performance.now();
    return Array.from(this.#waiting, ({ since }) => now - since);
  }

  /** @param {string} key */
  async #turn(key) {
    const wait = { since: performance.now() };
    this.#waiting.add(wait);
    let release;
    try {
      release = await this.#user.acquire(key);
    } catch {
      this.failures++;
      await delay(1);
      return;
    } finally {
      this.#waiting.delete(wait);
    }
    const waited = performance.now() - wait.since;
    const begin = machineMs();
    const { permits = 1 } = release;
    this.#exclusion.enter(key, permits);
    this.obtained++;
    if (this.#recording) {
      this.ops++;
      this.waits.push(waited);
      if (this.#limit > 1 && permits === this.#limit) this.aloneWaits.push(waited);
    }
    // One turn of the microtask queue: without it a second holder could never be seen.
    await (this.#holdMs > 0 ? delay(this.#holdMs) : Promise.resolve());
    this.#exclusion.leave(key, permits);
    if (this.#holdMs > 0) this.held.push(begin, machineMs(), permits);
    await release();
  }
}
