import type { Writable } from 'node:stream';

/** How many commands of one turn leave together. */
const TOGETHER = 16;

/**
 * Lets what is sent in one turn of the event loop leave in few packets: the first command at once, so that the server
 * has something to do, and those that follow together. A packet for each costs both sides more than the command does.
 */
export class Packets {
  private corked: Writable | undefined;
  private waiting = 0;

  /** A command was written. */
  wrote(stream: Writable): void {
    if (this.corked === stream) {
      if (++this.waiting < TOGETHER) return;
      this.waiting = 0;
      stream.uncork();
      stream.cork();
      return;
    }
    this.corked = stream;
    this.waiting = 0;
    stream.cork();
    process.nextTick(() => {
      this.corked = undefined;
      stream.uncork();
    });
  }
}
