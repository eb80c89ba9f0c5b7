import type { AcquireReply, ReleaseCommand, ReleaseReply } from 'nestjs-redis-lock';
import { GRANT_LEASE_MS } from '../../libs/redis-lock/src/stores/lock-store.js';
import { instanceOf, Store, TrackingStore } from './store.js';

/** Changes what a release does for the successor. */
abstract class OtherSuccessors extends Store {
  protected askFor({ key, successor }: ReleaseCommand): Promise<AcquireReply> | undefined {
    return successor && super.acquire({ key, ...successor, withinMs: 1_000, queue: successor });
  }

  protected async withReply(
    command: ReleaseCommand,
    change: (reply: AcquireReply) => AcquireReply,
  ): Promise<ReleaseReply> {
    const reply = await super.release(command);
    return reply.successor ? { ...reply, successor: change(reply.successor) } : reply;
  }
}

export class ForgetsSuccessors extends Store {
  override release({ successor, ...command }: ReleaseCommand): Promise<ReleaseReply> {
    return super.release(command);
  }
}

export class AnswersNoSuccessor extends Store {
  override async release(command: ReleaseCommand): Promise<ReleaseReply> {
    const { status } = await super.release(command);
    return { status };
  }
}

export class AnswersASuccessorThatIsNone extends OtherSuccessors {
  override async release(command: ReleaseCommand): Promise<ReleaseReply> {
    const reply = await super.release(command);
    const state = await this.inspect(command.key);
    return state.status === 'held' ? { successor: state, ...reply } : reply;
  }
}

export class AnswersSuccessorsWithAGrant extends OtherSuccessors {
  override release(command: ReleaseCommand): Promise<ReleaseReply> {
    return this.withReply(command, (reply) => (reply.status === 'acquired' ? { ...reply, granted: true } : reply));
  }
}

export class GivesSuccessorsTheLeaseOfAGrant extends Store {
  override release(command: ReleaseCommand): Promise<ReleaseReply> {
    const { successor } = command;
    return super.release({ ...command, successor: successor && { ...successor, leaseMs: GRANT_LEASE_MS } });
  }
}

/** Tells the successor what its answer says already. */
export class TellsSuccessorsTwice extends OtherSuccessors {
  override release(command: ReleaseCommand): Promise<ReleaseReply> {
    const { key, successor } = command;
    return this.withReply(command, (reply) => {
      if (successor && reply.status === 'acquired') {
        const { member } = successor;
        this.listeners.get(instanceOf(member))?.granted({ key, member, token: reply.token });
      }
      return reply;
    });
  }
}

export class SuccessorsJumpTheQueue extends Store {
  override release(command: ReleaseCommand): Promise<ReleaseReply> {
    const { successor } = command;
    return super.release({ ...command, successor: successor && { ...successor, arrival: 1 } });
  }
}

/** Queues the successor of who lost its lock, too; a key that is free is the successor's. */
export class QueuesAfterALoss extends OtherSuccessors {
  override async release(command: ReleaseCommand): Promise<ReleaseReply> {
    const reply = await super.release(command);
    if (reply.status === 'lost') await this.askFor(command);
    return reply;
  }
}

export class GivesAwayAFreeKeyAfterALoss extends OtherSuccessors {
  override async release(command: ReleaseCommand): Promise<ReleaseReply> {
    const reply = await super.release(command);
    if (reply.status === 'lost' && (await this.isFree(command.key))) await this.askFor(command);
    return reply;
  }
}

export class AnswersTheSuccessorAfterALoss extends OtherSuccessors {
  override async release(command: ReleaseCommand): Promise<ReleaseReply> {
    const reply = await super.release(command);
    const state = await this.inspect(command.key);
    return reply.status === 'lost' && state.status === 'held' ? { ...reply, successor: state } : reply;
  }
}

export class ForgetsSuccessorsAtMinHold extends Store {
  override release({ successor, ...command }: ReleaseCommand): Promise<ReleaseReply> {
    return super.release(command.minHoldMs > 0 ? command : { ...command, successor });
  }
}

export class LetsSuccessorsInBeforeMinHoldIsOver extends Store {
  override async release(command: ReleaseCommand): Promise<ReleaseReply> {
    return super.release(command.successor ? { ...command, minHoldMs: 0 } : command);
  }
}

/** Keeps the key for clients that have gone, although the successor is there. */
export class QueuesSuccessorsBehindTheDead extends TrackingStore {
  override async release(command: ReleaseCommand): Promise<ReleaseReply> {
    const { key, successor } = command;
    const [first] = this.queue(key).keys();
    const reply = await super.release(command);
    if (!successor || first === undefined) return reply;
    const held = { status: 'held', holder: first, token: 1, heldSince: 0, remainingMs: 1, queued: 1 } as const;
    return { ...reply, successor: held };
  }
}
