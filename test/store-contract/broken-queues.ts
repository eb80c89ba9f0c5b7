import type { AcquireCommand, AcquireReply, LockState, ReleaseCommand, ReleaseReply } from 'nestjs-redis-lock';
import type { GrantInbox, GrantListener, HeldReply, QueuePlace } from '../../libs/redis-lock/src/stores/lock-store.js';
import { instanceOf, Store, TrackingStore } from './store.js';

/** Answers those who do not own a lock otherwise. */
abstract class OtherAnswers extends Store {
  protected abstract change(reply: HeldReply, command: AcquireCommand): HeldReply;

  override async acquire(command: AcquireCommand): Promise<AcquireReply> {
    const reply = await super.acquire(command);
    return reply.status === 'held' ? this.change(reply, command) : reply;
  }
}

/** Puts something else into the place of those who wait. */
abstract class OtherPlaces extends OtherAnswers {
  protected abstract place(place: QueuePlace): QueuePlace;

  protected override change(reply: HeldReply): HeldReply {
    return reply.place ? { ...reply, place: this.place(reply.place) } : reply;
  }
}

export class InboxIsOpenAtFirst extends Store {
  override grants(instance: string, listener: GrantListener): GrantInbox {
    const inbox = super.grants(instance, listener);
    inbox.open();
    return inbox;
  }
}

export class InboxNeverCloses extends Store {
  override grants(instance: string, listener: GrantListener): GrantInbox {
    return { ...super.grants(instance, listener), close: async () => undefined };
  }
}

export class SaysOpenedOnce extends Store {
  private readonly told = new Set<GrantListener>();

  protected override opened(listener: GrantListener): void {
    if (!this.told.has(listener)) listener.opened();
    this.told.add(listener);
  }
}

export class SaysListeningToEverybody extends OtherPlaces {
  protected override place(place: QueuePlace): QueuePlace {
    return { ...place, listening: true };
  }
}

export class SaysListeningToNobody extends OtherPlaces {
  protected override place(place: QueuePlace): QueuePlace {
    return { ...place, listening: false };
  }
}

export class QueuesNobody extends Store {
  override acquire({ queue, ...command }: AcquireCommand): Promise<AcquireReply> {
    return super.acquire(command);
  }
}

export class QueuesEverybody extends OtherAnswers {
  override acquire(command: AcquireCommand): Promise<AcquireReply> {
    return super.acquire({ queue: {}, ...command });
  }

  protected override change({ place, ...reply }: HeldReply, { queue }: AcquireCommand): HeldReply {
    return queue && place ? { ...reply, place } : reply;
  }
}

export class CountsNobody extends OtherAnswers {
  protected override change(reply: HeldReply): HeldReply {
    return { ...reply, queued: 0 };
  }
}

export class InspectsWithoutTheQueue extends Store {
  override async inspect(key: string): Promise<LockState> {
    const state = await super.inspect(key);
    return state.status === 'held' ? { ...state, queued: 0 } : state;
  }
}

/** Numbers places from 1 on. */
export class ArrivalsFromAnotherCounter extends OtherPlaces {
  private last = 0;

  override acquire(command: AcquireCommand): Promise<AcquireReply> {
    return super.acquire({ ...command, queue: command.queue && { arrival: ++this.last, ...command.queue } });
  }

  protected override place(place: QueuePlace): QueuePlace {
    return { ...place, rejoined: false };
  }
}

export class CountsARepeatedWaiter extends OtherAnswers {
  private asked = 0;

  protected override change(reply: HeldReply): HeldReply {
    return reply.place ? { ...reply, queued: ++this.asked } : reply;
  }
}

/** Puts who asks again behind all others. */
export class LosesThePlaceOfWhoAsksAgain extends Store {
  override async acquire(command: AcquireCommand): Promise<AcquireReply> {
    const { key, member, queue } = command;
    if (!queue) return super.acquire(command);
    await super.release({ key, member, minHoldMs: 0 });
    return super.acquire({ ...command, queue: {} });
  }
}

export class SaysRejoinedToWhoAsksAgain extends OtherPlaces {
  private readonly arrivals = new Set<number>();

  protected override place(place: QueuePlace): QueuePlace {
    const known = this.arrivals.has(place.arrival);
    this.arrivals.add(place.arrival);
    return { ...place, rejoined: known };
  }
}

export class NeverSaysRejoined extends OtherPlaces {
  protected override place(place: QueuePlace): QueuePlace {
    return { ...place, rejoined: false };
  }
}

export class LastComeFirstServed extends Store {
  private next = Number.MAX_SAFE_INTEGER;

  override async acquire(command: AcquireCommand): Promise<AcquireReply> {
    const reply = await super.acquire({ ...command, queue: command.queue && { arrival: --this.next } });
    return reply.status === 'held' && reply.place
      ? { ...reply, place: { ...reply.place, rejoined: false, arrival: Date.now() * 1000 } }
      : reply;
  }
}

export class IgnoresArrivals extends Store {
  override acquire(command: AcquireCommand): Promise<AcquireReply> {
    return super.acquire({ ...command, queue: command.queue && { uncountable: command.queue.uncountable } });
  }

  override release(command: ReleaseCommand): Promise<ReleaseReply> {
    const { successor } = command;
    return super.release({ ...command, successor: successor && { ...successor, arrival: undefined } });
  }
}

export class KeepsWhoLeaves extends Store {
  override release(command: ReleaseCommand): Promise<ReleaseReply> {
    // With a token, though a wrong one, it is no leave.
    return this.ownerOr(command, -1);
  }

  private async ownerOr(command: ReleaseCommand, token: number): Promise<ReleaseReply> {
    const state = await this.inspect(command.key);
    const owns = state.status === 'held' && state.holder === command.member;
    return super.release(owns ? command : { ...command, token });
  }
}

/** Gives a free key to whoever asks, although others wait for it. */
export class LetsCallersJumpTheQueue extends TrackingStore {
  override async acquire(command: AcquireCommand): Promise<AcquireReply> {
    if (!command.queue && (await this.isFree(command.key))) await this.dropQueue(command.key);
    return super.acquire(command);
  }
}

/** Lets nobody in who does not wait, as long as somebody is in the queue. */
export class RefusesCallersWhileTheDeadWait extends TrackingStore {
  override async acquire(command: AcquireCommand): Promise<AcquireReply> {
    const [first] = this.queue(command.key).keys();
    if (command.queue || first === undefined || !(await this.isFree(command.key))) return super.acquire(command);
    return { status: 'held', holder: first, token: 1, heldSince: 0, remainingMs: 1, queued: 1 };
  }
}

export class AnswersTheHeadWithAGrant extends TrackingStore {
  override async acquire(command: AcquireCommand): Promise<AcquireReply> {
    const waited = this.queue(command.key).has(command.member);
    const reply = await super.acquire(command);
    return waited && reply.status === 'acquired' ? { ...reply, granted: true } : reply;
  }
}

export class GivesTheHeadTheLeaseOfAGrant extends TrackingStore {
  override async acquire(command: AcquireCommand): Promise<AcquireReply> {
    const waits = this.queue(command.key).has(command.member);
    return super.acquire(waits ? { ...command, leaseMs: 8_000 } : command);
  }
}

/** Tells the head what its answer says already. */
export class TellsTheHeadTwice extends TrackingStore {
  override async acquire(command: AcquireCommand): Promise<AcquireReply> {
    const { key, member } = command;
    const waited = this.queue(key).has(member);
    const reply = await super.acquire(command);
    if (waited && reply.status === 'acquired')
      this.listeners.get(instanceOf(member))?.granted({ key, member, token: reply.token });
    return reply;
  }
}
