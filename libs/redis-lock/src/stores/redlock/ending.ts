import { LockUnavailableError } from '../../lock/lock.errors.js';
import type { ReleaseCommand, ReleaseReply } from '../lock-store.js';
import type { RedisConnection } from '../redis/redis-connection.js';
import type { Nodes } from './nodes.js';
import { Poll } from './poll.js';
import { releaseScript } from './scripts/release.js';

type Status = ReleaseReply['status'];

/** Releases a lock on every node; a majority says how that ended. */
export class Ending extends Poll<Status, ReleaseReply> {
  private released = 0;
  private kept = 0;
  private lost = 0;

  constructor(
    nodes: Nodes,
    private readonly command: ReleaseCommand,
    private readonly keys: readonly [lock: string, queue: string],
  ) {
    super(nodes, command.key);
  }

  start(): Promise<ReleaseReply> {
    const { member, token, minHoldMs } = this.command;
    const args = [member, token === undefined ? '' : String(token), String(minHoldMs)] as const;
    return this.ask(releaseScript, this.keys, () => args);
  }

  protected answered(_: RedisConnection, status: Status): void {
    this[status]++;
  }

  protected decide(unanswered: number): void {
    const { majority, all } = this.nodes;
    const { released, kept, lost } = this;
    if (released + kept >= majority) this.settle({ status: kept > 0 ? 'kept' : 'released' });
    else if (lost >= majority) this.settle({ status: 'lost' });
    else if (released + kept + lost + unanswered >= all.length) {
      const what = `${released + kept} of ${all.length} nodes have released it and ${lost} did not have it`;
      this.fail(new LockUnavailableError(this.key, what));
    }
  }
}
