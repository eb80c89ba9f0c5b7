import type {
  AcquireCommand,
  AcquireReply,
  LockState,
  ReleaseCommand,
  ReleaseReply,
  RenewCommand,
  RenewReply,
} from 'nestjs-redis-lock';
import { Store } from './store.js';

export class EverybodyGetsIn extends Store {
  override async acquire(command: AcquireCommand): Promise<AcquireReply> {
    await this.free(command.key);
    return super.acquire(command);
  }
}

export class NobodyGetsIn extends Store {
  override async acquire(): Promise<AcquireReply> {
    return { status: 'held', holder: 'nobody', token: 1, heldSince: 0, remainingMs: 1, queued: 0 };
  }
}

export class TellsTheWrongHolder extends Store {
  override async acquire(command: AcquireCommand): Promise<AcquireReply> {
    const reply = await super.acquire(command);
    return reply.status === 'held' ? { ...reply, holder: command.member } : reply;
  }
}

export class TellsNoTokenOfTheHolder extends Store {
  override async acquire(command: AcquireCommand): Promise<AcquireReply> {
    const reply = await super.acquire(command);
    return reply.status === 'held' ? { ...reply, token: 0 } : reply;
  }
}

export class TellsNoLeaseOfTheHolder extends Store {
  override async acquire(command: AcquireCommand): Promise<AcquireReply> {
    const reply = await super.acquire(command);
    return reply.status === 'held' ? { ...reply, remainingMs: Infinity } : reply;
  }
}

export class RefusesARepeatedAcquire extends Store {
  override async acquire(command: AcquireCommand): Promise<AcquireReply> {
    const state = await this.inspect(command.key);
    return state.status === 'held' ? state : super.acquire(command);
  }
}

export class MintsATokenForARepeatedAcquire extends Store {
  override async acquire(command: AcquireCommand): Promise<AcquireReply> {
    await super.release({ key: command.key, member: command.member, minHoldMs: 0 });
    return super.acquire(command);
  }
}

export class CountsARepeatedAcquire extends Store {
  private readonly counts = new Map<string, number>();

  override async acquire(command: AcquireCommand): Promise<AcquireReply> {
    const reply = await super.acquire(command);
    if (reply.status === 'acquired') this.counts.set(command.member, (this.counts.get(command.member) ?? 0) + 1);
    return reply;
  }

  override async release(command: ReleaseCommand): Promise<ReleaseReply> {
    const left = (this.counts.get(command.member) ?? 1) - 1;
    this.counts.set(command.member, left);
    return left > 0 ? { status: 'released' } : super.release(command);
  }
}

export class SaysTheWholeLeaseToARepeatedAcquire extends Store {
  override async acquire(command: AcquireCommand): Promise<AcquireReply> {
    const reply = await super.acquire(command);
    return reply.status === 'acquired' ? { ...reply, remainingMs: command.leaseMs } : reply;
  }
}

export class SaysGrantedToARepeatedAcquire extends Store {
  private readonly owners = new Set<string>();

  override async acquire(command: AcquireCommand): Promise<AcquireReply> {
    const repeated = this.owners.has(command.member);
    const reply = await super.acquire(command);
    if (reply.status !== 'acquired') return reply;
    this.owners.add(command.member);
    return repeated ? { ...reply, granted: true } : reply;
  }
}

/** Gives other tokens to its callers than the store below it. */
abstract class OtherTokens extends Store {
  private readonly given = new Map<number, number>();

  protected abstract next(token: number): number;

  override async acquire(command: AcquireCommand): Promise<AcquireReply> {
    const reply = await super.acquire(command);
    return { ...reply, token: this.other(reply.token) };
  }

  override async release(command: ReleaseCommand): Promise<ReleaseReply> {
    if (command.token === undefined) return super.release(command);
    return super.release({ ...command, token: this.soundOf(command.token) });
  }

  protected override async renewOne(command: RenewCommand): Promise<RenewReply> {
    return super.renewOne({ ...command, token: this.soundOf(command.token) });
  }

  private other(token: number): number {
    if (token === 0) return 0;
    const other = this.given.get(token) ?? this.next(token);
    this.given.set(token, other);
    return other;
  }

  private soundOf(other: number): number {
    return [...this.given].findLast(([, given]) => given === other)?.[0] ?? -1;
  }
}

export class ConstantTokens extends OtherTokens {
  protected override next(): number {
    return 1_700_000_000_000_000;
  }
}

export class ShrinkingTokens extends OtherTokens {
  private last = Date.now() * 1000;

  protected override next(): number {
    return --this.last;
  }
}

export class MintsReservedTokens extends OtherTokens {
  private last = Date.now() * 1000;

  protected override next(): number {
    return ++this.last;
  }
}

export class FractionalTokens extends OtherTokens {
  protected override next(token: number): number {
    return token / 1000 + 0.5;
  }
}

export class TokensThatTellNoTime extends OtherTokens {
  private last = 0;

  protected override next(): number {
    return ++this.last;
  }
}

export class ReleasesWithoutOwnerCheck extends Store {
  override async release(command: ReleaseCommand): Promise<ReleaseReply> {
    await this.free(command.key);
    return { status: 'released' };
  }
}

export class ReleasesWithoutTokenCheck extends Store {
  override release({ key, member, minHoldMs }: ReleaseCommand): Promise<ReleaseReply> {
    return super.release({ key, member, minHoldMs });
  }
}

export class SaysReleasedToEverybody extends Store {
  override async release(command: ReleaseCommand): Promise<ReleaseReply> {
    const reply = await super.release(command);
    return reply.status === 'lost' ? { status: 'released' } : reply;
  }
}

export class ReleasesNothing extends Store {
  override async release(): Promise<ReleaseReply> {
    return { status: 'released' };
  }
}

export class SaysFreeOfEverything extends Store {
  override async inspect(): Promise<LockState> {
    return { status: 'free' };
  }
}

export class TrimsKeys extends Store {
  override acquire(command: AcquireCommand): Promise<AcquireReply> {
    return super.acquire({ ...command, key: command.key.trim() });
  }

  override release(command: ReleaseCommand): Promise<ReleaseReply> {
    return super.release({ ...command, key: command.key.trim() });
  }
}

export class CutsKeysAtNul extends Store {
  override acquire(command: AcquireCommand): Promise<AcquireReply> {
    return super.acquire({ ...command, key: command.key.replace(/\0.*/s, '') });
  }

  override release(command: ReleaseCommand): Promise<ReleaseReply> {
    return super.release({ ...command, key: command.key.replace(/\0.*/s, '') });
  }
}

export class AsksNobodyWhetherItIsWanted extends Store {
  override acquire({ key, member, leaseMs, withinMs }: AcquireCommand): Promise<AcquireReply> {
    return super.acquire({ key, member, leaseMs, withinMs });
  }
}
