import type { LockError } from './lock.errors.js';
import type { Patience } from './patience.js';

interface Turn {
  granted: boolean;
  readonly grant: () => void;
}

/** Lets one in at a time, in the order of arrival. */
export class Gate {
  private taken = false;
  private readonly queue = new Set<Turn>();

  /** How many queue; the one inside is not counted. */
  get waiting(): number {
    return this.queue.size;
  }

  /** Whether somebody is inside. */
  get busy(): boolean {
    return this.taken;
  }

  /**
   * @param late what the caller gets at its deadline.
   * @throws the error that ended the patience; then the caller is out of the queue.
   */
  async enter(patience: Patience, late: (waitedMs: number) => LockError): Promise<void> {
    patience.throwIfOver();
    if (!this.taken) {
      this.taken = true;
      return;
    }
    let turn!: Turn;
    const granted = new Promise<void>((resolve) => (turn = { granted: false, grant: resolve }));
    this.queue.add(turn);
    try {
      await patience.race(granted, late);
    } catch (error) {
      this.queue.delete(turn);
      if (turn.granted) this.leave();
      throw error;
    }
  }

  /** Lets the next one in. */
  leave(): void {
    const [next] = this.queue;
    if (!next) {
      this.taken = false;
      return;
    }
    this.queue.delete(next);
    next.granted = true;
    next.grant();
  }
}
