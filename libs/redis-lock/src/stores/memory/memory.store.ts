import { notWanted } from '../../lock/lock.errors.js';
import type {
  AcquireCommand,
  AcquireReply,
  HeldReply,
  LockState,
  LockStore,
  ReleaseCommand,
  ReleaseReply,
  RenewCommand,
  RenewReply,
} from '../lock-store.js';

interface Entry {
  /** Undefined while the key rests until `minHold` is over. */
  readonly member: string | undefined;
  readonly token: number;
  readonly expiresAt: number;
  readonly timer: NodeJS.Timeout;
}

/**
 * Locks in the memory of this process, with real leases: for tests and for an application that runs on one node only.
 * Several clients that are given one MemoryLockStore exclude each other.
 */
export class MemoryLockStore implements LockStore {
  private readonly entries = new Map<string, Entry>();
  private highestToken = 0;

  async acquire({ key, member, leaseMs, stillWanted }: AcquireCommand): Promise<AcquireReply> {
    if (stillWanted?.() === false) throw notWanted(key);
    const entry = this.find(key);
    if (entry && entry.member !== member) return heldBy(entry);
    if (entry) return { status: 'acquired', token: entry.token, remainingMs: entry.expiresAt - Date.now() };
    const token = Math.max(Date.now() * 1000, this.highestToken + 1);
    this.highestToken = token;
    this.put(key, member, token, leaseMs);
    return { status: 'acquired', token, remainingMs: leaseMs };
  }

  async release({ key, member, token, minHoldMs }: ReleaseCommand): Promise<ReleaseReply> {
    const entry = this.find(key);
    if (!entry || !owns(entry, member, token)) return 'lost';
    this.remove(key, entry);
    const sinceMs = Math.max(0, Date.now() - Math.floor(entry.token / 1000));
    const restMs = Math.min(entry.expiresAt - Date.now(), minHoldMs - sinceMs);
    if (restMs <= 0) return 'released';
    this.put(key, undefined, entry.token, restMs);
    return 'kept';
  }

  renew(commands: readonly RenewCommand[]): Promise<RenewReply>[] {
    return commands.map(async ({ key, member, token, leaseMs }): Promise<RenewReply> => {
      const entry = this.find(key);
      if (!entry || !owns(entry, member, token)) return { status: 'gone' };
      const remainingMs = Math.max(entry.expiresAt - Date.now(), leaseMs);
      this.remove(key, entry);
      this.put(key, member, token, remainingMs);
      return { status: 'renewed', remainingMs };
    });
  }

  async inspect(key: string): Promise<LockState> {
    const entry = this.find(key);
    return entry ? heldBy(entry) : { status: 'free' };
  }

  async close(): Promise<void> {
    for (const [key, entry] of this.entries) this.remove(key, entry);
  }

  private find(key: string): Entry | undefined {
    const entry = this.entries.get(key);
    if (!entry || entry.expiresAt > Date.now()) return entry;
    this.remove(key, entry);
    return undefined;
  }

  private put(key: string, member: string | undefined, token: number, leaseMs: number): void {
    const timer = setTimeout(() => this.find(key), leaseMs + 1);
    timer.unref();
    this.entries.set(key, { member, token, expiresAt: Date.now() + leaseMs, timer });
  }

  private remove(key: string, { timer }: Entry): void {
    clearTimeout(timer);
    this.entries.delete(key);
  }
}

function owns(entry: Entry, member: string, token: number | undefined): boolean {
  return entry.member === member && (token === undefined || entry.token === token);
}

function heldBy({ member, token, expiresAt }: Entry): HeldReply {
  const remainingMs = expiresAt - Date.now();
  const heldSince = Math.floor(token / 1000);
  return {
    status: 'held',
    holder: member ?? 'minHold',
    token: member === undefined ? 0 : token,
    heldSince,
    remainingMs,
  };
}
