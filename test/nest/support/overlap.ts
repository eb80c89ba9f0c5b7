import { setImmediate as turn } from 'node:timers/promises';
import { waitFor } from '../../support/wait-for.js';

/** Counts how many are inside of something at the same time. */
export class Overlap {
  now = 0;
  most = 0;
  runs = 0;
  /** Everybody stays inside until so many are; 1 for nobody waits. */
  untilAtOnce = 1;

  /** The work takes some turns of the event loop, so that everybody comes in who can. */
  async during<T>(work: () => Promise<T>): Promise<T> {
    this.runs++;
    this.most = Math.max(this.most, ++this.now);
    try {
      if (this.untilAtOnce > 1) await waitFor(() => this.most >= this.untilAtOnce);
      for (let turns = 0; turns < 20; turns++) await turn();
      return await work();
    } finally {
      this.now--;
    }
  }
}
