import { describe, expect, test } from '@jest/globals';
import {
  MemoryLockStore,
  type AcquireCommand,
  type AcquireReply,
  type LockState,
  type LockStore,
  type ReleaseCommand,
  type ReleaseReply,
  type RenewCommand,
  type RenewReply,
} from 'nestjs-redis-lock';
import { storeContract, type StoreUnderTest } from 'nestjs-redis-lock/testing';
import { RedisLockStore } from '../libs/redis-lock/src/stores/redis/redis.store.js';
import { describeWithRedis, sharedRedisUrl, uniquePrefix } from './support/redis.js';

async function opened(store: LockStore): Promise<StoreUnderTest> {
  return { store, close: async () => store.close() };
}

function testContract(open: () => LockStore): void {
  test.each(storeContract(async () => opened(open())))('$name', async (check) => {
    await expect(check.run()).resolves.toBeUndefined();
  });
}

describe('The contract on the memory store', () => {
  testContract(() => new MemoryLockStore());
});

describeWithRedis('The contract on the Redis store', () => {
  testContract(() => {
    const logger = { warn: () => {} };
    return new RedisLockStore({
      connection: sharedRedisUrl(),
      prefix: uniquePrefix(),
      commandTimeoutMs: 10_000,
      logger,
    });
  });
});

/** A store that keeps every rule; each of the stores below breaks one. */
class Store implements LockStore {
  protected readonly sound = new MemoryLockStore();

  acquire(command: AcquireCommand): Promise<AcquireReply> {
    return this.sound.acquire(command);
  }

  release(command: ReleaseCommand): Promise<ReleaseReply> {
    return this.sound.release(command);
  }

  renew(commands: readonly RenewCommand[]): Promise<RenewReply>[] {
    return commands.map(async (command) => this.renewOne(command));
  }

  inspect(key: string): Promise<LockState> {
    return this.sound.inspect(key);
  }

  close(): Promise<void> {
    return this.sound.close();
  }

  protected async renewOne(command: RenewCommand): Promise<RenewReply> {
    const [reply] = this.sound.renew([command]);
    return reply ?? { status: 'gone' };
  }

  /** Makes the key free, whoever has it. */
  protected async free(key: string): Promise<void> {
    const state = await this.sound.inspect(key);
    if (state.status === 'held') await this.sound.release({ key, member: state.holder, minHoldMs: 0 });
  }
}

class EverybodyGetsIn extends Store {
  override async acquire(command: AcquireCommand): Promise<AcquireReply> {
    await this.free(command.key);
    return super.acquire(command);
  }
}

class NobodyGetsIn extends Store {
  override async acquire(): Promise<AcquireReply> {
    return { status: 'held', holder: 'nobody', token: 1, heldSince: 0, remainingMs: 1 };
  }
}

class TellsTheWrongHolder extends Store {
  override async acquire(command: AcquireCommand): Promise<AcquireReply> {
    const reply = await super.acquire(command);
    return reply.status === 'held' ? { ...reply, holder: command.member } : reply;
  }
}

class TellsNoTokenOfTheHolder extends Store {
  override async acquire(command: AcquireCommand): Promise<AcquireReply> {
    const reply = await super.acquire(command);
    return reply.status === 'held' ? { ...reply, token: 0 } : reply;
  }
}

class TellsNoLeaseOfTheHolder extends Store {
  override async acquire(command: AcquireCommand): Promise<AcquireReply> {
    const reply = await super.acquire(command);
    return reply.status === 'held' ? { ...reply, remainingMs: Infinity } : reply;
  }
}

class RefusesARepeatedAcquire extends Store {
  override async acquire(command: AcquireCommand): Promise<AcquireReply> {
    const state = await this.inspect(command.key);
    return state.status === 'held' ? state : super.acquire(command);
  }
}

class MintsATokenForARepeatedAcquire extends Store {
  override async acquire(command: AcquireCommand): Promise<AcquireReply> {
    await super.release({ key: command.key, member: command.member, minHoldMs: 0 });
    return super.acquire(command);
  }
}

class CountsARepeatedAcquire extends Store {
  private readonly counts = new Map<string, number>();

  override async acquire(command: AcquireCommand): Promise<AcquireReply> {
    const reply = await super.acquire(command);
    if (reply.status === 'acquired') this.counts.set(command.member, (this.counts.get(command.member) ?? 0) + 1);
    return reply;
  }

  override async release(command: ReleaseCommand): Promise<ReleaseReply> {
    const left = (this.counts.get(command.member) ?? 1) - 1;
    this.counts.set(command.member, left);
    return left > 0 ? 'released' : super.release(command);
  }
}

class SaysTheWholeLeaseToARepeatedAcquire extends Store {
  override async acquire(command: AcquireCommand): Promise<AcquireReply> {
    const reply = await super.acquire(command);
    return reply.status === 'acquired' ? { ...reply, remainingMs: command.leaseMs } : reply;
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

class ConstantTokens extends OtherTokens {
  protected override next(): number {
    return 1_700_000_000_000_000;
  }
}

class ShrinkingTokens extends OtherTokens {
  private last = Date.now() * 1000;

  protected override next(): number {
    return --this.last;
  }
}

class FractionalTokens extends OtherTokens {
  protected override next(token: number): number {
    return token / 1000 + 0.5;
  }
}

class TokensThatTellNoTime extends OtherTokens {
  private last = 0;

  protected override next(): number {
    return ++this.last;
  }
}

class ReleasesWithoutOwnerCheck extends Store {
  override async release(command: ReleaseCommand): Promise<ReleaseReply> {
    await this.free(command.key);
    return 'released';
  }
}

class ReleasesWithoutTokenCheck extends Store {
  override release({ key, member, minHoldMs }: ReleaseCommand): Promise<ReleaseReply> {
    return super.release({ key, member, minHoldMs });
  }
}

class SaysReleasedToEverybody extends Store {
  override async release(command: ReleaseCommand): Promise<ReleaseReply> {
    const reply = await super.release(command);
    return reply === 'lost' ? 'released' : reply;
  }
}

class ReleasesNothing extends Store {
  override async release(): Promise<ReleaseReply> {
    return 'released';
  }
}

class LeasesNeverEnd extends Store {
  override async acquire(command: AcquireCommand): Promise<AcquireReply> {
    const reply = await super.acquire({ ...command, leaseMs: 2 ** 31 - 2 });
    return { ...reply, remainingMs: Math.min(reply.remainingMs, 1) };
  }
}

class RenewsNothing extends Store {
  protected override async renewOne({ leaseMs }: RenewCommand): Promise<RenewReply> {
    return { status: 'renewed', remainingMs: leaseMs };
  }
}

class RenewsWithoutTokenCheck extends Store {
  protected override async renewOne(command: RenewCommand): Promise<RenewReply> {
    const state = await this.inspect(command.key);
    return super.renewOne(state.status === 'held' ? { ...command, token: state.token } : command);
  }
}

class RenewsWithoutOwnerCheck extends Store {
  protected override async renewOne(command: RenewCommand): Promise<RenewReply> {
    const state = await this.inspect(command.key);
    if (state.status === 'free') return { status: 'gone' };
    return super.renewOne({ ...command, member: state.holder, token: state.token });
  }
}

class ShortensLeases extends Store {
  protected override async renewOne(command: RenewCommand): Promise<RenewReply> {
    const reply = await super.renewOne(command);
    return reply.status === 'renewed' ? { status: 'renewed', remainingMs: command.leaseMs } : reply;
  }
}

class AddsToLeases extends Store {
  protected override async renewOne(command: RenewCommand): Promise<RenewReply> {
    const state = await this.inspect(command.key);
    const left = state.status === 'held' ? state.remainingMs : 0;
    return super.renewOne({ ...command, leaseMs: left + command.leaseMs });
  }
}

/** Gives an ended lease to its last owner again, as long as nobody else has taken the key. */
class RevivesLeases extends Store {
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

class MakesLocksByRenewing extends Store {
  protected override async renewOne(command: RenewCommand): Promise<RenewReply> {
    const reply = await super.acquire({ ...command, withinMs: 1_000 });
    return reply.status === 'acquired' ? { status: 'renewed', remainingMs: reply.remainingMs } : { status: 'gone' };
  }
}

class OneAnswerToAllRenewals extends Store {
  override renew(commands: readonly RenewCommand[]): Promise<RenewReply>[] {
    const [first] = commands;
    if (!first) return [];
    const reply = this.renewOne(first);
    return commands.map(async () => reply);
  }
}

class IgnoresMinHold extends Store {
  override release(command: ReleaseCommand): Promise<ReleaseReply> {
    return super.release({ ...command, minHoldMs: 0 });
  }
}

class SaysKeptButFrees extends Store {
  override async release(command: ReleaseCommand): Promise<ReleaseReply> {
    const reply = await super.release({ ...command, minHoldMs: 0 });
    return reply === 'released' && command.minHoldMs > 0 ? 'kept' : reply;
  }
}

/** Leaves the lock to its holder instead of letting it rest. */
class KeepsTheHolderThroughMinHold extends Store {
  override async release(command: ReleaseCommand): Promise<ReleaseReply> {
    return command.minHoldMs > 0 ? 'kept' : super.release(command);
  }
}

class LengthensLeasesToMinHold extends Store {
  override async release(command: ReleaseCommand): Promise<ReleaseReply> {
    const { key, member, token, minHoldMs } = command;
    if (minHoldMs > 0 && token !== undefined) await this.renewOne({ key, member, token, leaseMs: minHoldMs });
    return super.release(command);
  }
}

class SaysFreeOfEverything extends Store {
  override async inspect(): Promise<LockState> {
    return { status: 'free' };
  }
}

class TrimsKeys extends Store {
  override acquire(command: AcquireCommand): Promise<AcquireReply> {
    return super.acquire({ ...command, key: command.key.trim() });
  }

  override release(command: ReleaseCommand): Promise<ReleaseReply> {
    return super.release({ ...command, key: command.key.trim() });
  }
}

class CutsKeysAtNul extends Store {
  override acquire(command: AcquireCommand): Promise<AcquireReply> {
    return super.acquire({ ...command, key: command.key.replace(/\0.*/s, '') });
  }

  override release(command: ReleaseCommand): Promise<ReleaseReply> {
    return super.release({ ...command, key: command.key.replace(/\0.*/s, '') });
  }
}

class AsksNobodyWhetherItIsWanted extends Store {
  override acquire({ key, member, leaseMs, withinMs }: AcquireCommand): Promise<AcquireReply> {
    return super.acquire({ key, member, leaseMs, withinMs });
  }
}

describe('The contract can fail', () => {
  test('a store that keeps every rule passes', async () => {
    expect(await failedChecks(Store)).toEqual([]);
  });

  const broken: [new () => LockStore, RegExp][] = [
    [EverybodyGetsIn, /gives a free key to the first member/],
    [NobodyGetsIn, /gives a free key to the first member/],
    [TellsTheWrongHolder, /says to the second who holds it/],
    [TellsNoTokenOfTheHolder, /says to the second who holds it/],
    [TellsNoLeaseOfTheHolder, /says to the second who holds it/],
    [RefusesARepeatedAcquire, /asks again the same token/],
    [MintsATokenForARepeatedAcquire, /asks again the same token/],
    [CountsARepeatedAcquire, /asks again the same token/],
    [SaysTheWholeLeaseToARepeatedAcquire, /asks again/],
    [ConstantTokens, /mints tokens that grow/],
    [ShrinkingTokens, /mints tokens that grow/],
    [FractionalTokens, /safe integers/],
    [TokensThatTellNoTime, /tell the time/],
    [ReleasesWithoutOwnerCheck, /release what another holds/],
    [ReleasesWithoutTokenCheck, /old token release/],
    [SaysReleasedToEverybody, /second release finds nothing/],
    [ReleasesNothing, /releases with the token/],
    [LeasesNeverEnd, /frees a key when its lease ends/],
    [RenewsNothing, /extends a lease/],
    [RenewsWithoutTokenCheck, /renew the lock/],
    [RenewsWithoutOwnerCheck, /does not revive/],
    [ShortensLeases, /never shortens/],
    [AddsToLeases, /extends a lease/],
    [RevivesLeases, /does not revive/],
    [MakesLocksByRenewing, /renewals of several keys/],
    [OneAnswerToAllRenewals, /one by one/],
    [IgnoresMinHold, /until minHold is over/],
    [SaysKeptButFrees, /until minHold is over/],
    [KeepsTheHolderThroughMinHold, /until minHold is over/],
    [LengthensLeasesToMinHold, /lengthen a lease/],
    [SaysFreeOfEverything, /holds/],
    [TrimsKeys, /keeps keys apart/],
    [CutsKeysAtNul, /keeps keys apart/],
    [AsksNobodyWhetherItIsWanted, /caller that has gone/],
  ];

  test.each(broken.map(([Type, check]) => [Type.name, Type, check] as const))('on %s', async (_, Type, check) => {
    expect(await failedChecks(Type)).toContainEqual(expect.stringMatching(check));
  });

  /** The names of the checks that a store fails; they run side by side, each on a store of its own. */
  async function failedChecks(Type: new () => LockStore): Promise<string[]> {
    const checks = storeContract(async () => opened(new Type()));
    const outcomes = await Promise.allSettled(checks.map(async (check) => check.run()));
    return checks.filter((_, index) => outcomes[index]?.status === 'rejected').map(({ name }) => name);
  }
});
