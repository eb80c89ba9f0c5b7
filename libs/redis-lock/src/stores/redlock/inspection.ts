import type { HeldReply, LockState } from '../lock-store.js';
import type { RedisConnection } from '../redis/redis-connection.js';
import { heldBy, mostNamed } from './held.js';
import { Poll } from './poll.js';
import { inspectScript } from './scripts/inspect.js';

/** Who holds a lock on a majority of the nodes, or may do so. */
export class Inspection extends Poll<LockState, LockState> {
  private readonly held: HeldReply[] = [];
  private answers = 0;

  start(keys: readonly [lock: string, queue: string]): Promise<LockState> {
    return this.ask(inspectScript, keys, () => [] as const);
  }

  protected answered(_: RedisConnection, state: LockState): void {
    this.answers++;
    if (state.status === 'held') this.held.push(state);
  }

  protected decide(lost: number): void {
    const { all, majority } = this.nodes;
    const most = mostNamed(this.held);
    const open = all.length - this.answers - lost;
    if (most.length >= majority || (open <= 0 && most.length > 0 && most.length + lost >= majority)) {
      this.settle(heldBy(most, majority));
    } else if (most.length + open + lost < majority || open <= 0) this.settle({ status: 'free' });
  }
}
