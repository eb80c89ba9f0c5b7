import type {
  AcquireCommand,
  AcquireReply,
  ReleaseCommand,
  ReleaseReply,
  RenewCommand,
  RenewReply,
} from 'nestjs-redis-lock';
import { Store } from './store.js';

export class LeasesNeverEnd extends Store {
  override async acquire(command: AcquireCommand): Promise<AcquireReply> {
    const reply = await super.acquire({ ...command, leaseMs: 2 ** 31 - 2 });
    return { ...reply, remainingMs: Math.min(reply.remainingMs, 1) };
  }
}

export class RenewsNothing extends Store {
  protected override async renewOne({ leaseMs }: RenewCommand): Promise<RenewReply> {
    return { status: 'renewed', remainingMs: leaseMs };
  }
}

export class RenewsWithoutTokenCheck extends Store {
  protected override async renewOne(command: RenewCommand): Promise<RenewReply> {
    const state = await this.inspect(command.key);
    return super.renewOne(state.status === 'held' ? { ...command, token: state.token } : command);
  }
}

export class RenewsWithoutOwnerCheck extends Store {
  protected override async renewOne(command: RenewCommand): Promise<RenewReply> {
    const state = await this.inspect(command.key);
    if (state.status === 'free') return { status: 'gone' };
    return super.renewOne({ ...command, member: state.holder, token: state.token });
  }
}

export class ShortensLeases extends Store {
  protected override async renewOne(command: RenewCommand): Promise<RenewReply> {
    const reply = await super.renewOne(command);
    return reply.status === 'renewed' ? { status: 'renewed', remainingMs: command.leaseMs } : reply;
  }
}

export class AddsToLeases extends Store {
  protected override async renewOne(command: RenewCommand): Promise<RenewReply> {
    const state = await this.inspect(command.key);
    const left = state.status === 'held' ? state.remainingMs : 0;
    return super.renewOne({ ...command, leaseMs: left + command.leaseMs });
  }
}

/** Gives an ended lease to its last owner again, as long as nobody else has taken the key. */
export class RevivesLeases extends Store {
  private readonly last = new Map<string, string>();

  override async acquire(command: AcquireCommand): Promise<AcquireReply> {
    const reply = await super.acquire(command);
    if (reply.status === 'acquired') this.last.set(command.key, command.member);
    return reply;
  }

  override async release(command: ReleaseCommand): Promise<ReleaseReply> {
    this.last.delete(command.key);
    return super.release(command);
  }

  protected override async renewOne(command: RenewCommand): Promise<RenewReply> {
    const reply = await super.renewOne(command);
    if (reply.status === 'renewed' || this.last.get(command.key) !== command.member) return reply;
    const again = await super.acquire({ ...command, withinMs: 1_000 });
    return again.status === 'acquired' ? { status: 'renewed', remainingMs: again.remainingMs } : reply;
  }
}

export class MakesLocksByRenewing extends Store {
  protected override async renewOne(command: RenewCommand): Promise<RenewReply> {
    const reply = await super.acquire({ ...command, withinMs: 1_000 });
    return reply.status === 'acquired' ? { status: 'renewed', remainingMs: reply.remainingMs } : { status: 'gone' };
  }
}

export class OneAnswerToAllRenewals extends Store {
  override renew(commands: readonly RenewCommand[]): Promise<RenewReply>[] {
    const [first] = commands;
    if (!first) return [];
    const reply = this.renewOne(first);
    return commands.map(async () => reply);
  }
}

export class IgnoresMinHold extends Store {
  override release(command: ReleaseCommand): Promise<ReleaseReply> {
    return super.release({ ...command, minHoldMs: 0 });
  }
}

export class SaysKeptButFrees extends Store {
  override async release(command: ReleaseCommand): Promise<ReleaseReply> {
    const reply = await super.release({ ...command, minHoldMs: 0 });
    return reply.status === 'released' && command.minHoldMs > 0 ? { status: 'kept' } : reply;
  }
}

/** Leaves the lock to its holder instead of letting it rest. */
export class KeepsTheHolderThroughMinHold extends Store {
  override async release(command: ReleaseCommand): Promise<ReleaseReply> {
    return command.minHoldMs > 0 ? { status: 'kept' } : super.release(command);
  }
}

export class LengthensLeasesToMinHold extends Store {
  override async release(command: ReleaseCommand): Promise<ReleaseReply> {
    const { key, member, token, minHoldMs } = command;
    if (minHoldMs > 0 && token !== undefined) await this.renewOne({ key, member, token, leaseMs: minHoldMs });
    return super.release(command);
  }
}
