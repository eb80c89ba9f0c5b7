import type { Writable } from 'node:stream';

/** How many commands of one turn leave together. */
const TOGETHER = 16;

/**
 * Lets what is sent in one turn of the event loop leave in few packets, unless the server has nothing to do: a packet for
 * each command costs both sides more than the command does.
 */
export class Packets {
  private corked: Writable | undefined;
  private waiting = 0;

  /** A command is about to be written; `isBusy`: the server has others to answer. */
  writing(stream: Writable, isBusy: boolean): void {
    if (this.corked === stream) {
      if (++this.waiting < TOGETHER) return;
      this.waiting = 0;
      stream.uncork();
      stream.cork();
      return;
    }
    if (!isBusy) return;
    this.corked = stream;
    this.waiting = 0;
    stream.cork();
    process.nextTick(() => {
      this.corked = undefined;
      stream.uncork();
    });
  }
}
