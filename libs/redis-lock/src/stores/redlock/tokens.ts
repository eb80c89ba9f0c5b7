import { RESERVED_TOKENS } from '../lock-store.js';
import type { Nodes } from './nodes.js';

/**
 * Proposes fencing tokens.
 *
 * A node that grants the lock under a proposal T tells the highest number that it knew, and *accepts* T if that was
 * smaller; either way it keeps T + RESERVED_TOKENS at least. If a majority has granted and accepted T, then T is larger than
 * every earlier token of the key, and its grant was a majority read and a majority write-back in one: the majority of an
 * earlier acquisition A shares a node with it; that node was A's before, and knew T_A + RESERVED_TOKENS at least when it
 * accepted T. Where fewer have accepted it, a number above all that the majority has told is written to a majority of
 * nodes that the member still owns, before anybody works under it; the same argument holds for that.
 */
export class Tokens {
  private highest = 0;

  constructor(private readonly nodes: Nodes) {}

  /** The median of the servers' clocks in µs, or the number after all that this client has seen. */
  propose(): number {
    const clocks: number[] = [];
    for (const node of this.nodes.all) if (node.isReady) clocks.push(node.clock.in(0));
    clocks.sort((a, b) => a - b);
    return this.seen(Math.max(clocks[clocks.length >> 1] ?? 0, this.next));
  }

  /** A number above all that nodes have told. */
  above(fence: number): number {
    this.seen(fence);
    return this.seen(this.next);
  }

  seen(number: number): number {
    if (number > this.highest) this.highest = number;
    return number;
  }

  private get next(): number {
    return this.highest + RESERVED_TOKENS + 1;
  }
}
