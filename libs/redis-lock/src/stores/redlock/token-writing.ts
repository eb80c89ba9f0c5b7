import { LockUnavailableError } from '../../lock/lock.errors.js';
import type { AcquireCommand } from '../lock-store.js';
import type { RedisConnection } from '../redis/redis-connection.js';
import { Poll } from './poll.js';
import type { Nodes } from './nodes.js';
import { tokenScript } from './scripts/token.js';

/** On how many nodes a token was written, and how long the lock is the member's on a majority. */
export interface Written {
  readonly nodes: number;
  readonly remainingMs: number;
}

/** The second round: writes a token to all nodes that the member owns. */
export class TokenWriting extends Poll<number, Written> {
  /** Told of nodes that follow. */
  reply: { nodes: number } | undefined;
  private readonly leases: number[] = [];
  private gone = 0;

  constructor(
    nodes: Nodes,
    private readonly command: AcquireCommand,
    private readonly keys: readonly string[],
    private readonly token: number,
  ) {
    super(nodes, command.key);
  }

  /** To one node, which has granted the lock later. */
  static at(node: RedisConnection, { key, member }: AcquireCommand, keys: readonly string[], token: number): void {
    node.run(tokenScript, key, keys, [member, token]).catch(() => undefined);
  }

  start(): Promise<Written> {
    return this.ask(tokenScript, this.keys, () => [this.command.member, this.token] as const);
  }

  protected answered(_: RedisConnection, remainingMs: number): void {
    if (remainingMs < 0) this.gone++;
    else if (this.decided && this.reply) this.reply.nodes++;
    else this.leases.push(remainingMs);
  }

  protected decide(lost: number): void {
    const { all, majority } = this.nodes;
    if (this.leases.length >= majority) {
      this.leases.sort((a, b) => b - a);
      this.settle({ nodes: this.leases.length, remainingMs: this.leases[majority - 1] ?? 0 });
    } else if (this.gone + lost > all.length - majority) this.fail(this.wasGone());
  }

  private wasGone(): LockUnavailableError {
    return new LockUnavailableError(this.key, 'too few nodes had the lock still when its token was written');
  }
}
