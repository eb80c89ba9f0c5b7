import { notWanted, otherKind } from '../../lock/lock.errors.js';
import {
  GRANT_CONFIRM_MS,
  GRANT_LEASE_MS,
  RESERVED_TOKENS,
  type AcquireCommand,
  type AcquiredReply,
  type AcquireReply,
  type GrantInbox,
  type GrantListener,
  type HeldReply,
  type Holders,
  type LockState,
  type LockStore,
  type QueueRequest,
  type ReduceCommand,
  type ReleaseCommand,
  type ReleaseReply,
  type RenewCommand,
  type RenewReply,
} from '../lock-store.js';
import { endOf, MemoryHolds, type Hold } from './memory-holds.js';
import { instanceOf, MemoryInboxes } from './memory-inboxes.js';
import { MemoryQueues } from './memory-queue.js';
import { MemoryShares } from './memory-shares.js';

interface Caller {
  readonly member: string;
  readonly leaseMs: number;
}

/**
 * Locks in the memory of this process, with real leases, queues and grants: for tests and for an application that runs
 * on one node only. Several clients that are given one MemoryLockStore exclude each other.
 */
export class MemoryLockStore implements LockStore {
  private readonly queues = new MemoryQueues();
  private readonly inboxes = new MemoryInboxes();
  // Who did not confirm one grant is taken for dead, with all that it has in the queue.
  private readonly holds = new MemoryHolds((key, member) => {
    if (member !== undefined) this.queues.drop(key, (other) => instanceOf(other) === instanceOf(member));
  });
  private readonly shares = new MemoryShares(
    this.inboxes,
    () => this.nextNumber(),
    () => this.highestNumber,
  );
  private highestNumber = 0;

  async acquire(command: AcquireCommand): Promise<AcquireReply> {
    const { key, member, leaseMs, share, queue, stillWanted } = command;
    if (stillWanted?.() === false) throw notWanted(key);
    if (share ? this.holds.find(key) : this.shares.has(key)) throw otherKind(key);
    return share ? this.shares.acquire({ ...command, share }) : this.enter(key, { member, leaseMs }, queue);
  }

  async release(command: ReleaseCommand): Promise<ReleaseReply> {
    const { key, member, token, share, minHoldMs, successor } = command;
    if (share) return this.shares.release(command);
    const hold = this.holds.find(key);
    if (token === undefined) this.queues.drop(key, (other) => other === member);
    if (!hold || !owns(hold, member, token)) {
      if (!hold) this.grantNext(key);
      return { status: 'lost' };
    }
    const sinceMs = Math.max(0, Date.now() - Math.floor(hold.token / 1000));
    const restMs = Math.min(endOf(hold) - Date.now(), minHoldMs - sinceMs);
    if (restMs > 0) this.holds.put(key, { member: undefined, token: hold.token, expiresAt: Date.now() + restMs });
    else this.holds.remove(key);
    const status = restMs > 0 ? 'kept' : 'released';
    if (successor) return { status, successor: this.enter(key, successor, successor) };
    if (status === 'released') this.grantNext(key);
    return { status };
  }

  renew(commands: readonly RenewCommand[]): Promise<RenewReply>[] {
    return commands.map(async (command): Promise<RenewReply> => {
      const { key, member, token, leaseMs, share } = command;
      if (share) return this.shares.renew(command);
      const hold = this.holds.find(key);
      if (!hold || !owns(hold, member, token)) return { status: 'gone' };
      const remainingMs = Math.max(endOf(hold) - Date.now(), leaseMs);
      this.holds.put(key, { member, token, expiresAt: Date.now() + remainingMs });
      return { status: 'renewed', remainingMs };
    });
  }

  async inspect(key: string): Promise<LockState> {
    const hold = this.holds.find(key);
    if (hold) return this.heldBy(key, hold);
    return this.shares.state(key) ?? { status: 'free' };
  }

  async holders(key: string): Promise<Holders> {
    return this.shares.holders(key);
  }

  async reduce(command: ReduceCommand): Promise<boolean> {
    return this.shares.reduce(command);
  }

  grants(instance: string, listener: GrantListener): GrantInbox {
    return this.inboxes.inbox(instance, listener);
  }

  async close(): Promise<void> {
    this.holds.clear();
    this.queues.clear();
    this.shares.clear();
    this.inboxes.clear();
  }

  private enter(key: string, caller: Caller, queue: QueueRequest | undefined): AcquireReply {
    const { member } = caller;
    const hold = this.holds.find(key);
    if (hold?.member === member) {
      const remainingMs = endOf(hold) - Date.now();
      return {
        status: 'acquired',
        token: hold.token,
        remainingMs,
        ...(hold.voidAt !== undefined && { granted: true }),
      };
    }
    if (!hold && this.queues.size(key) === 0) return this.own(key, caller);
    const place = queue && this.queues.join(key, member, queue, () => this.nextNumber());
    const holder = hold ?? this.grantNext(key, member);
    if (!holder) return this.own(key, caller);
    const held = this.heldBy(key, holder);
    return place ? { ...held, place: { ...place, listening: this.inboxes.isOpen(member) } } : held;
  }

  /** Grants a free key to the first in its queue that can be told. Nothing: it is the caller's turn, or nobody's. */
  private grantNext(key: string, caller?: string): Hold | undefined {
    for (let head = this.queues.shift(key); head; head = this.queues.shift(key)) {
      const { member, uncountable } = head;
      if (member === caller) return undefined;
      if (!uncountable && !this.inboxes.isOpen(member)) continue;
      const now = Date.now();
      const token = this.nextToken();
      const grant = { member, token, expiresAt: now + GRANT_LEASE_MS, voidAt: now + GRANT_CONFIRM_MS };
      this.holds.put(key, grant);
      this.inboxes.tell({ key, member, token });
      return grant;
    }
    return undefined;
  }

  private own(key: string, { member, leaseMs }: Caller): AcquiredReply {
    const token = this.nextToken();
    this.holds.put(key, { member, token, expiresAt: Date.now() + leaseMs });
    return { status: 'acquired', token, remainingMs: leaseMs };
  }

  private nextToken(): number {
    const token = this.nextNumber();
    this.highestNumber = token + RESERVED_TOKENS;
    return token;
  }

  private nextNumber(): number {
    this.highestNumber = Math.max(Date.now() * 1000, this.highestNumber + 1);
    return this.highestNumber;
  }

  private heldBy(key: string, hold: Hold): HeldReply {
    return {
      status: 'held',
      holder: hold.member ?? 'minHold',
      token: hold.member === undefined ? 0 : hold.token,
      heldSince: Math.floor(hold.token / 1000),
      remainingMs: endOf(hold) - Date.now(),
      queued: this.queues.size(key),
    };
  }
}

function owns(hold: Hold, member: string, token: number | undefined): boolean {
  return hold.member === member && (token === undefined || hold.token === token);
}
