import type { AcquireCommand, AcquireReply, ReleaseCommand, ReleaseReply } from 'nestjs-redis-lock';
import type { MemoryQueues } from '../../libs/redis-lock/src/stores/memory/memory-queue.js';
import { Store } from '../store-contract/store.js';

/** Says to everybody that the lock is his although somebody else works under it, with a token that may be good. */
export class GivesTheLockToTwo extends Store {
  private token = 0;

  override async acquire(command: AcquireCommand): Promise<AcquireReply> {
    const reply = await super.acquire(command);
    this.token = Math.max(this.token + 1, reply.token);
    return reply.status === 'acquired' || reply.token === 0
      ? reply
      : { status: 'acquired', token: this.token, remainingMs: command.leaseMs };
  }
}

/** Every third token is smaller than those before. */
export class MintsASmallerToken extends Store {
  private minted = 0;

  override async acquire(command: AcquireCommand): Promise<AcquireReply> {
    const reply = await super.acquire(command);
    return reply.status === 'acquired' && ++this.minted % 3 === 0 ? { ...reply, token: reply.token - 1e9 } : reply;
  }
}

/** Forgets who waits, grants nothing, and does not answer who asks again. */
export class ForgetsWhoWaits extends Store {
  private readonly known = new Set<string>();

  override async acquire(command: AcquireCommand): Promise<AcquireReply> {
    const { key, member } = command;
    if (this.known.has(member)) return new Promise(() => undefined);
    this.known.add(member);
    const reply = await super.acquire(command);
    if (reply.status === 'held') await super.release({ key, member, minHoldMs: 0 });
    return reply;
  }
}

/** Puts somebody into the queue again who has left it. */
export class LeavesItsQueue extends Store {
  private left = 0;

  override async release(command: ReleaseCommand): Promise<ReleaseReply> {
    const reply = await super.release(command);
    const queues = Reflect.get(this.sound, 'queues') as MemoryQueues;
    if (command.token === undefined) queues.join(command.key, `left#${++this.left}`, {}, () => this.left);
    return reply;
  }
}
