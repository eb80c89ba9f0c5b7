import {
  GRANT_CONFIRM_MS,
  type AcquireCommand,
  type AcquiredReply,
  type AcquireReply,
  type HeldReply,
  type Holders,
  type ReduceCommand,
  type ReleaseCommand,
  type RenewCommand,
  type RenewReply,
  type ReleaseReply,
  type Share,
} from '../lock-store.js';
import { instanceOf, type MemoryInboxes } from './memory-inboxes.js';
import { MemoryQueues } from './memory-queue.js';

/** What one member has of a lock. */
interface Holder {
  /** Undefined while its permits rest until `minHold` is over. */
  readonly member: string | undefined;
  readonly token: number;
  permits: number;
  /** When its lease ends; of a grant that is not confirmed, when it is void. */
  expiresAt: number;
  confirmed: boolean;
  timer?: NodeJS.Timeout;
}

type Acquire = AcquireCommand & { readonly share: Share };

/** Locks that several members hold together. */
export class MemoryShares {
  private readonly locks = new Map<string, Set<Holder>>();
  private readonly queues = new MemoryQueues();

  constructor(
    private readonly inboxes: MemoryInboxes,
    /** A number above all that were given out. */
    private readonly next: () => number,
    private readonly highest: () => number,
  ) {}

  /** Whether anybody holds or waits for a lock of this kind. */
  has(key: string): boolean {
    return this.current(key).length > 0 || this.queues.size(key) > 0;
  }

  acquire({ key, member, leaseMs, share, queue }: Acquire): AcquireReply {
    const known = this.find(key, member);
    if (known) {
      const remainingMs = known.expiresAt - Date.now();
      return { status: 'acquired', token: known.token, remainingMs, ...(!known.confirmed && { granted: true }) };
    }
    if (this.queues.size(key) === 0 && this.leavesRoom(key, share)) return this.own(key, member, share, leaseMs);
    const place = queue && this.queues.join(key, member, queue, this.next, share);
    const served = this.serve(key, { member, leaseMs });
    if (served) return served;
    if (!place && this.queues.size(key) === 0 && this.leavesRoom(key, share)) {
      return this.own(key, member, share, leaseMs);
    }
    const held = this.state(key) as HeldReply;
    return place ? { ...held, place: { ...place, listening: this.inboxes.isOpen(member) } } : held;
  }

  release({ key, member, token, minHoldMs }: ReleaseCommand): ReleaseReply {
    const holder = this.find(key, member, token);
    if (token === undefined) this.queues.drop(key, (other) => other === member);
    const status = holder ? this.end(key, holder, minHoldMs) : 'lost';
    this.serve(key);
    return { status };
  }

  renew({ key, member, token, leaseMs }: RenewCommand): RenewReply {
    const holder = this.find(key, member, token);
    if (!holder) return { status: 'gone' };
    const remainingMs = Math.max(holder.expiresAt - Date.now(), leaseMs);
    holder.expiresAt = Date.now() + remainingMs;
    holder.confirmed = true;
    this.watch(key, holder);
    return { status: 'renewed', remainingMs };
  }

  reduce({ key, member, token }: ReduceCommand): boolean {
    const holder = this.find(key, member, token);
    if (holder) holder.permits = 1;
    this.serve(key);
    return holder !== undefined;
  }

  holders(key: string): Holders {
    const holders = this.current(key);
    return {
      holders: holders.flatMap(({ member, token, permits, expiresAt }) => {
        if (member === undefined) return [];
        const heldSince = Math.floor(token / 1000);
        return [{ holder: member, token, permits, heldSince, remainingMs: expiresAt - Date.now() }];
      }),
      permits: permitsOf(holders),
      queued: this.queues.size(key),
    };
  }

  /** The holder that ends first; undefined when nobody holds anything. */
  state(key: string): HeldReply | undefined {
    const holders = this.current(key);
    const [first] = holders.sort((one, other) => one.expiresAt - other.expiresAt);
    if (!first) return undefined;
    return {
      status: 'held',
      holder: first.member ?? 'minHold',
      token: this.highest(),
      heldSince: first.member === undefined ? undefined : Math.floor(first.token / 1000),
      remainingMs: first.expiresAt - Date.now(),
      queued: this.queues.size(key),
    };
  }

  clear(): void {
    for (const holders of this.locks.values()) for (const { timer } of holders) clearTimeout(timer);
    this.locks.clear();
    this.queues.clear();
  }

  private current(key: string): Holder[] {
    const holders = this.locks.get(key) ?? [];
    for (const holder of holders) if (holder.expiresAt <= Date.now()) this.lapse(key, holder);
    return [...holders];
  }

  private find(key: string, member: string, token?: number): Holder | undefined {
    return this.current(key).find((one) => one.member === member && (token === undefined || one.token === token));
  }

  private leavesRoom(key: string, { permits, limit }: Share): boolean {
    return permitsOf(this.current(key)) + permits <= limit;
  }

  private end(key: string, holder: Holder, minHoldMs: number): 'released' | 'kept' {
    const since = Math.floor(holder.token / 1000);
    const expiresAt = Math.min(holder.expiresAt, Math.min(since, Date.now()) + minHoldMs);
    this.remove(key, holder);
    if (expiresAt <= Date.now()) return 'released';
    this.add(key, { member: undefined, token: holder.token, permits: holder.permits, expiresAt, confirmed: true });
    return 'kept';
  }

  /** Grants to those in the queue, in its order, as long as there is room. What the caller gets if its turn came. */
  private serve(key: string, caller?: { member: string; leaseMs: number }): AcquiredReply | undefined {
    let answer: AcquiredReply | undefined;
    for (let head = this.queues.first(key); head?.share; head = this.queues.first(key)) {
      const { member, share, uncountable } = head;
      if (!this.leavesRoom(key, share)) break;
      this.queues.shift(key);
      if (member === caller?.member) answer = this.own(key, member, share, caller.leaseMs);
      else if (uncountable || this.inboxes.isOpen(member)) this.grant(key, member, share);
    }
    return answer;
  }

  private own(key: string, member: string, { permits }: Share, leaseMs: number): AcquiredReply {
    const token = this.next();
    this.add(key, { member, token, permits, expiresAt: Date.now() + leaseMs, confirmed: true });
    return { status: 'acquired', token, remainingMs: leaseMs };
  }

  private grant(key: string, member: string, share: Share): void {
    const token = this.next();
    const expiresAt = Date.now() + GRANT_CONFIRM_MS;
    this.add(key, { member, token, permits: share.permits, expiresAt, confirmed: false });
    this.inboxes.tell({ key, member, token, share });
  }

  private add(key: string, holder: Holder): void {
    const holders = this.locks.get(key) ?? new Set();
    this.locks.set(key, holders.add(holder));
    this.watch(key, holder);
  }

  private watch(key: string, holder: Holder): void {
    clearTimeout(holder.timer);
    holder.timer = setTimeout(() => this.current(key), holder.expiresAt - Date.now() + 1).unref();
  }

  /** Who did not confirm one grant is taken for dead, with all that it has in the queue. */
  private lapse(key: string, holder: Holder): void {
    const { member, confirmed } = holder;
    this.remove(key, holder);
    if (confirmed || member === undefined) return;
    this.queues.drop(key, (other) => instanceOf(other) === instanceOf(member));
  }

  private remove(key: string, holder: Holder): void {
    clearTimeout(holder.timer);
    const holders = this.locks.get(key);
    if (holders?.delete(holder) && holders.size === 0) this.locks.delete(key);
  }
}

function permitsOf(holders: readonly Holder[]): number {
  return holders.reduce((sum, { permits }) => sum + permits, 0);
}
