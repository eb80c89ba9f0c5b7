import type {
  AcquireCommand,
  AcquireReply,
  ReleaseCommand,
  ReleaseReply,
  RenewCommand,
  RenewReply,
} from 'nestjs-redis-lock';
import {
  GRANT_LEASE_MS,
  type AcquiredReply,
  type Grant,
  type GrantListener,
} from '../../libs/redis-lock/src/stores/lock-store.js';
import { Store, TrackingStore } from './store.js';

/** Nobody gets what is released. */
export class DropsTheQueueAtARelease extends TrackingStore {
  override async release(command: ReleaseCommand): Promise<ReleaseReply> {
    await this.dropQueue(command.key);
    return super.release(command);
  }
}

export class GrantsNothingAfterALoss extends Store {
  override async release(command: ReleaseCommand): Promise<ReleaseReply> {
    return (await this.isFree(command.key)) ? { status: 'lost' } : super.release(command);
  }
}

export class TellsNobody extends Store {
  protected override granted(): void {}
}

export class TellsTwice extends Store {
  protected override granted(grant: Grant, listener: GrantListener): void {
    listener.granted(grant);
    listener.granted(grant);
  }
}

export class TellsEverybody extends Store {
  protected override granted(grant: Grant): void {
    for (const listener of this.listeners.values()) listener.granted(grant);
  }
}

export class TellsAnotherToken extends Store {
  protected override granted(grant: Grant, listener: GrantListener): void {
    listener.granted({ ...grant, token: grant.token + 1 });
  }
}

export class TellsAnotherMember extends Store {
  protected override granted(grant: Grant, listener: GrantListener): void {
    listener.granted({ ...grant, member: `${grant.member}0` });
  }
}

export class TellsAnotherKey extends Store {
  protected override granted(grant: Grant, listener: GrantListener): void {
    listener.granted({ ...grant, key: `lock:${grant.key}` });
  }
}

/** Grants to clients that have gone. */
export class GrantsToEverybody extends Store {
  override acquire(command: AcquireCommand): Promise<AcquireReply> {
    return super.acquire({ ...command, queue: command.queue && { ...command.queue, uncountable: true } });
  }
}

export class PassesOverTheUncountable extends Store {
  override acquire(command: AcquireCommand): Promise<AcquireReply> {
    return super.acquire({ ...command, queue: command.queue && { arrival: command.queue.arrival } });
  }
}

export class RequeuesTheUncountable extends Store {
  override async acquire(command: AcquireCommand): Promise<AcquireReply> {
    const { key, member, queue } = command;
    if (queue?.uncountable) await super.release({ key, member, minHoldMs: 0 });
    return super.acquire(command);
  }
}

export class TellsTheLeaseOfAGrant extends Store {
  override async acquire(command: AcquireCommand): Promise<AcquireReply> {
    const reply = await super.acquire(command);
    return reply.remainingMs <= 3_000 ? { ...reply, remainingMs: GRANT_LEASE_MS } : reply;
  }
}

/** Changes what a member is told that asks for its grant again. */
abstract class OtherAdoptions extends Store {
  protected abstract adopt(reply: AcquiredReply, command: AcquireCommand): Promise<AcquireReply>;

  override async acquire(command: AcquireCommand): Promise<AcquireReply> {
    const reply = await super.acquire(command);
    return reply.status === 'acquired' && reply.granted ? this.adopt(reply, command) : reply;
  }
}

export class HidesThatItIsAGrant extends OtherAdoptions {
  protected override async adopt({ granted, ...reply }: AcquiredReply): Promise<AcquireReply> {
    return reply;
  }
}

export class ConfirmsByAsking extends OtherAdoptions {
  protected override async adopt(reply: AcquiredReply, command: AcquireCommand): Promise<AcquireReply> {
    await this.renewOne({ ...command, token: reply.token });
    return reply;
  }
}

export class RefusesAdoption extends OtherAdoptions {
  protected override async adopt(
    { token, remainingMs }: AcquiredReply,
    command: AcquireCommand,
  ): Promise<AcquireReply> {
    return { status: 'held', holder: command.member, token, heldSince: 0, remainingMs, queued: 0 };
  }
}

/** What is not confirmed stays with who leaves. */
export class KeepsTheGrantOfWhoLeaves extends Store {
  override async release(command: ReleaseCommand): Promise<ReleaseReply> {
    const reply = await super.acquire({ ...command, leaseMs: 1, withinMs: 1_000 });
    const isGrant = reply.status === 'acquired' && reply.granted;
    return isGrant ? { status: 'released' } : super.release(command);
  }
}

/** What is not confirmed is free when its member leaves, whoever waits. */
export class FreesTheGrantOfWhoLeaves extends TrackingStore {
  override async release(command: ReleaseCommand): Promise<ReleaseReply> {
    const reply = await super.acquire({ ...command, leaseMs: 1, withinMs: 1_000 });
    if (reply.status === 'acquired' && reply.granted) await this.dropQueue(command.key);
    return super.release(command);
  }
}

export class ConfirmsNothing extends Store {
  protected override async renewOne(command: RenewCommand): Promise<RenewReply> {
    const { key, member, leaseMs } = command;
    const reply = await super.acquire({ key, member, leaseMs: 1, withinMs: 1_000 });
    if (reply.status === 'acquired' && reply.granted && reply.token === command.token)
      return { status: 'renewed', remainingMs: Math.max(leaseMs, reply.remainingMs) };
    return super.renewOne(command);
  }
}

export class ShortensGrants extends Store {
  protected override async renewOne(command: RenewCommand): Promise<RenewReply> {
    const reply = await super.renewOne(command);
    return reply.status === 'renewed' ? { ...reply, remainingMs: command.leaseMs } : reply;
  }
}

/** Ends a grant after three seconds, although it was confirmed. */
export class VoidsConfirmedGrants extends Store {
  protected override granted(grant: Grant, listener: GrantListener): void {
    listener.granted(grant);
    setTimeout(() => void this.free(grant.key), 3_000).unref();
  }
}

/** A grant is a lease like any other: nobody need confirm it. */
export class ConfirmsItself extends Store {
  protected override async granted(grant: Grant, listener: GrantListener): Promise<void> {
    await this.renewOne({ ...grant, leaseMs: GRANT_LEASE_MS });
    listener.granted(grant);
  }
}

export class VoidsGrantsTooEarly extends Store {
  protected override granted(grant: Grant, listener: GrantListener): void {
    listener.granted(grant);
    setTimeout(() => void this.sound.release({ ...grant, minHoldMs: 0 }), 1_000).unref();
  }
}

/** Renews a grant that is void, as long as nobody else has the key. */
export class RevivesGrants extends Store {
  protected override async renewOne(command: RenewCommand): Promise<RenewReply> {
    const reply = await super.renewOne(command);
    if (reply.status === 'renewed' || !(await this.isFree(command.key))) return reply;
    const again = await super.acquire({ ...command, withinMs: 1_000 });
    return again.status === 'acquired' ? { status: 'renewed', remainingMs: again.remainingMs } : reply;
  }
}

/** Says that a grant which is void was released. */
export class ReleasesVoidGrants extends TrackingStore {
  private readonly tokens = new Set<number>();

  override async release(command: ReleaseCommand): Promise<ReleaseReply> {
    const reply = await super.release(command);
    const wasGranted = command.token !== undefined && this.tokens.has(command.token);
    return wasGranted && reply.status === 'lost' ? { ...reply, status: 'released' } : reply;
  }

  protected override granted(grant: Grant, listener: GrantListener): void | Promise<void> {
    this.tokens.add(grant.token);
    return super.granted(grant, listener);
  }
}

/** Gives a grant that is void to its member all the same. */
export class AdoptsVoidGrants extends TrackingStore {
  private readonly tokens = new Map<string, number>();

  override async acquire(command: AcquireCommand): Promise<AcquireReply> {
    const token = this.tokens.get(command.key + command.member);
    const reply = await super.acquire(command);
    return reply.status === 'acquired' && token !== undefined ? { ...reply, token } : reply;
  }

  protected override granted(grant: Grant, listener: GrantListener): void | Promise<void> {
    this.tokens.set(grant.key + grant.member, grant.token);
    return super.granted(grant, listener);
  }
}

/** Lets the members of a client wait on that did not confirm a grant. */
export class KeepsTheDeadInTheQueue extends TrackingStore {
  override async acquire(command: AcquireCommand): Promise<AcquireReply> {
    const { key, queue } = command;
    const [first] = this.queue(key);
    if (!queue && first && (await this.isFree(key)))
      await super.acquire({ ...command, member: first[0], queue: { arrival: first[1] } });
    return super.acquire(command);
  }
}

/** Forgets all who wait when one of them does not confirm. */
export class DropsEverybodyWithTheDead extends TrackingStore {
  override async acquire(command: AcquireCommand): Promise<AcquireReply> {
    if (await this.isFree(command.key)) await this.dropQueue(command.key);
    return super.acquire(command);
  }
}
