/**
 * One stay of a caller in its critical section.
 *
 * @typedef {object} HoldRecord
 * @property {string} key
 * @property {number} token the fencing token of the hold
 * @property {string} who which process, and which caller in it
 * @property {number} [asked] when the caller asked for the lock
 * @property {number} from when the section began, in ms of a clock that all processes of this machine share
 * @property {number} until the earlier of the end of the section and the moment from which the handle did not call the
 *   lock held any more
 * @property {number} [permits] how many permits it had, of a lock with shares
 * @property {number} [limit] how many there were; absent: the lock is held as a whole
 * @property {number} [read] the value of the counter that it read
 * @property {'accepted' | 'rejected' | 'unknown'} [write] what became of its write of the next value
 */

/** The clock of all processes of this machine, in ms. */
export const clock = () => Number(process.hrtime.bigint()) / 1e6;

/**
 * Writes down for how long a holder could be certain of its lock. It knows only what the handle says, so that it judges
 * the handle as well. Where a clock and the handle are read one after the other, the clock is first: a process that is
 * stopped in between then claims less than it could, never more.
 */
export class CriticalSection {
  /** @type {number | undefined} */
  #lostAt;
  #deadline = 0;

  /**
   * @param {import('nestjs-redis-lock').LockHandle} lock
   * @param {string} who
   */
  constructor(lock, who) {
    this.lock = lock;
    this.who = who;
    this.from = clock();
    this.look();
    lock.signal.addEventListener('abort', () => (this.#lostAt ??= clock()));
  }

  /** Until when the lock is certain to be held, as far as the holder has looked. */
  get deadline() {
    return this.#deadline;
  }

  /** Looks again how long the lock is certain to be held. */
  look() {
    const at = clock();
    const { remaining } = this.lock;
    if (remaining > 0) this.#deadline = Math.max(this.#deadline, at + remaining);
  }

  /**
   * Ends the section, before the lock is released.
   *
   * @param {Pick<HoldRecord, 'asked' | 'read' | 'write' | 'permits' | 'limit'>} [more]
   * @returns {HoldRecord}
   */
  end(more) {
    const { lock, who, from } = this;
    const at = clock();
    const until = lock.held ? at : Math.max(from, Math.min(at, this.#lostAt ?? at, this.#deadline));
    return { key: lock.key, token: lock.fencingToken, who, from, until, ...more };
  }
}
