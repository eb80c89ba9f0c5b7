import type {
  AcquireCommand,
  AcquireReply,
  LockState,
  ReleaseCommand,
  ReleaseReply,
  RenewCommand,
  RenewReply,
} from 'nestjs-redis-lock';
import type { Grant, GrantListener, Holders, ReduceCommand } from '../../libs/redis-lock/src/stores/lock-store.js';
import { Store, TrackingStore } from './store.js';

/** Asks for another share than it was told to. */
abstract class OtherShares extends Store {
  protected abstract change(command: AcquireCommand): AcquireCommand;

  override acquire(command: AcquireCommand): Promise<AcquireReply> {
    return super.acquire(command.share ? this.change(command) : command);
  }
}

/** Says other things of the holders. */
abstract class OtherHolders extends Store {
  protected abstract change(holders: Holders): Holders;

  override async holders(key: string): Promise<Holders> {
    return this.change(await super.holders(key));
  }
}

export class LetsEverybodyShare extends OtherShares {
  protected override change(command: AcquireCommand): AcquireCommand {
    return { ...command, share: { permits: 1, limit: 1_000 } };
  }
}

export class SharesWithNobody extends OtherShares {
  protected override change(command: AcquireCommand): AcquireCommand {
    return { ...command, share: { permits: 3, limit: 3 } };
  }
}

export class HidesHolders extends OtherHolders {
  protected override change(holders: Holders): Holders {
    return { ...holders, holders: holders.holders.slice(1) };
  }
}

export class CountsHoldersForPermits extends OtherHolders {
  protected override change(holders: Holders): Holders {
    return { ...holders, permits: holders.holders.length };
  }
}

export class SaysFreeOfShares extends Store {
  override async inspect(key: string): Promise<LockState> {
    return (await this.sound.holders(key)).permits > 0 ? { status: 'free' } : super.inspect(key);
  }
}

/** Who asks again is taken for somebody else. */
export class SharesAgainWithWhoAsksAgain extends OtherShares {
  private asked = 0;
  private readonly known = new Set<string>();

  protected override change(command: AcquireCommand): AcquireCommand {
    const { member } = command;
    if (!this.known.has(member)) {
      this.known.add(member);
      return command;
    }
    return { ...command, member: `${member}-${++this.asked}` };
  }
}

/** Who wants no more than there is gets it, whoever waits. */
export class LetsSmallOnesPass extends TrackingStore {
  override async acquire(command: AcquireCommand): Promise<AcquireReply> {
    const { key, share } = command;
    const waiting = [...this.queue(key)];
    const room = share && share.permits + (await this.sound.holders(key)).permits <= share.limit;
    if (!room || waiting.length === 0) return super.acquire(command);
    for (const [member] of waiting) await this.sound.release({ key, member, share, minHoldMs: 0 });
    return super.acquire(command);
  }
}

/** Whoever renews renews for all. */
export class RenewsAllTogether extends Store {
  protected override async renewOne(command: RenewCommand): Promise<RenewReply> {
    if (!command.share) return super.renewOne(command);
    const { holders } = await this.sound.holders(command.key);
    for (const { holder, token } of holders) await super.renewOne({ ...command, member: holder, token });
    return super.renewOne(command);
  }
}

export class RenewsAnyToken extends Store {
  protected override async renewOne(command: RenewCommand): Promise<RenewReply> {
    const reply = await super.renewOne(command);
    return command.share && reply.status === 'gone' ? { status: 'renewed', remainingMs: command.leaseMs } : reply;
  }
}

/** All share one lease: with the first one that ends, all end. */
export class EndsAllTogether extends OtherHolders {
  private most = 0;

  protected override change(holders: Holders): Holders {
    this.most = Math.max(this.most, holders.holders.length);
    return holders.holders.length < this.most ? { ...holders, holders: [], permits: 0 } : holders;
  }
}

export class HoldsWhatWasNotConfirmed extends Store {
  protected override async granted(grant: Grant, listener: GrantListener): Promise<void> {
    if (grant.share) await super.renewOne({ ...grant, leaseMs: 60_000 });
    listener.granted(grant);
  }
}

export class HidesThatAShareWasGranted extends Store {
  override async acquire(command: AcquireCommand): Promise<AcquireReply> {
    const reply = await super.acquire(command);
    return command.share && reply.status === 'acquired' ? { ...reply, granted: false } : reply;
  }
}

export class GivesPermitsBackAtOnce extends Store {
  override release(command: ReleaseCommand): Promise<ReleaseReply> {
    return super.release(command.share ? { ...command, minHoldMs: 0 } : command);
  }
}

export class ReducesNothing extends Store {
  override async reduce(): Promise<boolean> {
    return true;
  }
}

export class ReducesEverybody extends Store {
  override async reduce(command: ReduceCommand): Promise<boolean> {
    await super.reduce(command);
    return true;
  }
}

/** The first limit that it is told of a key counts for all. */
export class OneLimitForAll extends OtherShares {
  private limit: number | undefined;

  protected override change(command: AcquireCommand): AcquireCommand {
    const { permits, limit } = command.share ?? { permits: 1, limit: 1 };
    this.limit ??= limit;
    return { ...command, share: { permits, limit: this.limit } };
  }
}

export class KeepsSharersWhoLeave extends Store {
  override async release(command: ReleaseCommand): Promise<ReleaseReply> {
    const { key, member, share } = command;
    const { holders } = await this.sound.holders(key);
    const isHolder = holders.some(({ holder }) => holder === member);
    return share && !isHolder ? { status: 'lost' } : super.release(command);
  }
}

export class GrantsSharesToTheDeaf extends OtherShares {
  protected override change(command: AcquireCommand): AcquireCommand {
    return command.queue ? { ...command, queue: { ...command.queue, uncountable: true } } : command;
  }
}

export class MixesKinds extends Store {
  override acquire(command: AcquireCommand): Promise<AcquireReply> {
    const { share } = command;
    return super.acquire(share ? command : { ...command, key: `${command.key}, plain` });
  }
}
