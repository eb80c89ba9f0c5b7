/**
 * Counts the timers that wait. `process.getActiveResourcesInfo()` leaves out those that do not keep the process alive,
 * so the functions that make timers are watched. It has to be there before the code that it watches is loaded.
 */
export class TimerCount {
  /** @type {Set<object>} */
  #timers = new Set();

  constructor() {
    for (const name of /** @type {const} */ (['setTimeout', 'setInterval'])) {
      const original = globalThis[name];
      const watched = (/** @type {any[]} */ ...args) => {
        const timer = Reflect.apply(original, globalThis, args);
        this.#timers.add(timer);
        return timer;
      };
      globalThis[name] = /** @type {any} */ (Object.assign(watched, original));
    }
  }

  get active() {
    for (const timer of this.#timers) if (Reflect.get(timer, '_destroyed')) this.#timers.delete(timer);
    return this.#timers.size;
  }
}
