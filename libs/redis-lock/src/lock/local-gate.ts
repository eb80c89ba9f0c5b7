import { GRANT_CONFIRM_MS, type HeldReply } from '../stores/lock-store.js';
import { Chain, type Link } from './chain.js';
import { Contender, type ContenderOwner, type ContenderParts, type Wish } from './contender.js';
import { isSameDemand, mayHandOver } from './hand-over.js';
import type { Hold } from './hold.js';
import type { Lease } from './lease.js';
import { leaseOf, type LockSettings } from './lock-settings.js';
import { LockBusyError, LockUnavailableError, type LockError, type LockHolder } from './lock.errors.js';
import type { Patience } from './patience.js';
import { PollTimer, UNREACHABLE, type PollTimerOwner } from './poll-timer.js';
import { giveUp } from './releasing.js';
import { runOutsideScopes } from './scope.js';

/** A caller that wants the lock of a gate. */
export interface Waiter {
  readonly settings: LockSettings;
  readonly patience: Patience;
  /** Its place in the queue of the gate; a fair caller has none, nor has one that wants a share. */
  place: Link<Waiter> | undefined;
  /** Stands for it alone: it is fair, or wants a share. */
  contender: Contender | undefined;
  /** It has the lock from now on, under this fencing token. */
  enter(lease: Lease, fencingToken: number): void;
  fail(error: LockError): void;
}

/**
 * The callers of this process that want one key. They queue here, first in first out, and one contender stands for them
 * in the store; a fair caller has one of its own. Who holds the lock passes it on to the next one here where that is
 * allowed, and else through the store.
 */
export class LocalGate implements ContenderOwner, PollTimerOwner {
  private readonly waiters = new Chain<Waiter>();
  private contender: Contender | undefined;
  /** What this process holds through the gate; fair callers hold on their own. */
  private lease: Lease | undefined;
  private readonly fair = new Chain<Contender>();
  private pollTimer: PollTimer | undefined;
  /** Whether all contenders ask, one after another, because they may have lost their places. */
  private asksAround = false;

  /** @param gates is told when nobody holds or wants the lock here any more. */
  constructor(
    private readonly key: string,
    private readonly parts: ContenderParts,
    private readonly gates: { idle(key: string, gate: LocalGate): void },
  ) {}

  /** Whether a caller would have to wait behind another one of this process. */
  get busy(): boolean {
    return this.lease !== undefined || this.contender !== undefined || this.waiters.size > 0;
  }

  /** How many callers of this process queue. */
  get waiting(): number {
    return this.waiters.size + this.fair.size;
  }

  /** The contender that stands for a caller. */
  contenderOf(waiter: Waiter): Contender | undefined {
    return waiter.contender ?? this.contender;
  }

  /** Who holds the lock, as far as a caller can know here. */
  holderFor(waiter?: Waiter): LockHolder | undefined {
    if (this.lease) return holderOf(this.lease);
    const seen = (waiter ? this.contenderOf(waiter) : this.contender)?.seen;
    return seen instanceof LockUnavailableError ? undefined : seen;
  }

  /** How many callers wait for the key as far as this process knows: those here, and the members of others. */
  waitingFor(waiter: Waiter): number {
    const seen = this.contenderOf(waiter)?.seen;
    const queued = seen && !(seen instanceof LockUnavailableError) ? seen.queued : 0;
    const ours = this.fair.size + (this.contender ? 1 : 0);
    return Math.max(1, this.waiting) + Math.max(0, queued - ours);
  }

  /** Held, or out of reach? A question that is open for long says that the last answer is no longer true. */
  unreachableFor(waiter?: Waiter): { readonly cause: unknown } | undefined {
    if (this.lease) return undefined;
    for (const contender of [waiter ? this.contenderOf(waiter) : this.contender, this.oldest]) {
      if (!contender) continue;
      const failed = contender.seen instanceof LockUnavailableError;
      const bound = UNREACHABLE * this.parts.settings.commandTimeoutMs;
      if (failed || contender.unansweredMs > bound) return { cause: contender.seen };
    }
    return undefined;
  }

  /** Queues a caller. */
  join(waiter: Waiter): void {
    const { fair, share, waitMs, maxWaiters } = waiter.settings;
    const queues = waitMs > 0 && maxWaiters > 0;
    if (share || (fair && queues)) {
      const contender = new Contender(this.parts, this, this.key, queues, waiter);
      contender.place = this.fair.add(contender);
      waiter.contender = contender;
      runOutsideScopes(() => contender.ask());
    } else {
      waiter.place = this.waiters.add(waiter);
      this.contend();
    }
    this.pollTimer?.joined(waiter.patience);
  }

  /** A caller gives up. */
  leave(waiter: Waiter): void {
    if (!waiter.place?.remove()) {
      if (waiter.contender?.place?.remove()) waiter.contender.abandon();
    } else if (this.waiters.size === 0 || waiter === this.contender?.only) {
      this.contender?.abandon();
      this.contender = undefined;
      this.contend();
    }
    this.settle();
  }

  /** The waiter to whom a hold may be passed on here. */
  nextFor(hold: Hold): Waiter | undefined {
    const next = this.waiters.first;
    return next && hold.lease === this.lease && mayHandOver(hold, next.settings) ? next : undefined;
  }

  /** Passes a lease on without the store. */
  handOver(lease: Lease, next: Waiter): void {
    next.place?.remove();
    lease.handOvers++;
    next.enter(lease, lease.token + lease.handOvers);
  }

  /** Who is to be queued in the step that releases a lease of this gate; undefined when nobody waits, or can be told. */
  successorOf(lease: Lease): Contender | undefined {
    const queues = this.waiters.size > 0 && this.canBeTold;
    if (lease !== this.lease || !queues || this.contender) return undefined;
    this.contender = new Contender(this.parts, this, this.key, true);
    return this.contender;
  }

  /** A lease has ended here. */
  freed(lease: Lease): void {
    if (lease !== this.lease) return;
    this.lease = undefined;
    this.contend();
    this.settle();
  }

  wishOf(contender: Contender): Wish {
    const waiter = contender.only ?? this.waiters.first;
    // With others behind it, a command is still of use when the first one has gone.
    const isAlone = contender.only !== undefined || this.waiters.size === 1;
    return {
      leaseMs: waiter ? leaseOf(waiter.settings) : 1,
      withinMs: waiter && isAlone ? waiter.patience.remainingMs : Infinity,
      confirmed: waiter !== undefined && waiter.settings.minHoldMs > 0,
      replicas: waiter?.settings.replicas,
    };
  }

  obtained(contender: Contender, lease: Lease): void {
    if (contender.place?.remove()) {
      contender.only?.enter(lease, lease.token);
      return this.settle();
    }
    this.contender = undefined;
    this.lease = lease;
    const next = this.waiters.first;
    const isAcknowledged = next && (!next.settings.replicas || isSameDemand(lease.replicas, next.settings.replicas));
    if (isAcknowledged && !isTooLong(lease, contender.longestAskedMs, leaseOf(next.settings))) {
      next.place?.remove();
      next.enter(lease, lease.token);
    } else {
      // It was asked for by somebody who has gone, for longer than the next one wants it, or with fewer replicas.
      const over = (): void => {
        lease.whenEnded?.();
        this.freed(lease);
      };
      void giveUp(this.parts, lease, 0, this.successorOf(lease), over);
    }
    this.settle();
  }

  refused(contender: Contender, reason: HeldReply | LockUnavailableError): void {
    const isAboutReplicas = reason instanceof LockUnavailableError && reason.acknowledged !== undefined;
    const concerned = contender.only ? [contender.only] : [...this.waiters];
    const refused = isAboutReplicas ? concerned.filter(({ settings }) => settings.replicas) : concerned;
    if (!contender.place?.remove()) this.contender = undefined;
    for (const waiter of refused) {
      waiter.place?.remove();
      waiter.fail(
        reason instanceof LockUnavailableError ? reason : new LockBusyError(this.key, 'somebody else holds it', reason),
      );
    }
    this.contend();
    this.settle();
  }

  waits(ms: number): void {
    this.pollTimer ??= new PollTimer(this, this.parts.settings.commandTimeoutMs);
    this.pollTimer.waits(ms);
  }

  /** A holder of this process has left the key closed: those that wait in the store do not know until when. */
  rests(): void {
    if (!this.contender) this.ask();
  }

  get canBeTold(): boolean {
    return this.parts.inbox.usable;
  }

  ask(): void {
    this.oldest?.ask();
  }

  *patiences(): Iterable<Patience> {
    for (const { patience } of this.waiters) yield patience;
    for (const { only } of this.fair) if (only) yield only.patience;
  }

  rejoined(contender: Contender): void {
    if (this.fair.size > 0) this.askAround(contender);
  }

  /** All contenders ask once more, one after another; less one that has just done so. */
  askAround(less?: Contender): void {
    if (this.asksAround) return;
    this.asksAround = true;
    const others = [...this.contenders()].filter((other) => other !== less);
    this.parts.inbox.spread(others, () => (this.asksAround = false));
  }

  private get oldest(): Contender | undefined {
    return this.contender ?? this.fair.first;
  }

  private *contenders(): Iterable<Contender> {
    if (this.contender) yield this.contender;
    yield* this.fair;
  }

  /** Sends a contender for those who wait, if there is none and nobody holds the lock here. */
  private contend(): void {
    const { first } = this.waiters;
    if (!first || this.lease || this.contender) return;
    const isOnce = first.settings.waitMs === 0 || first.settings.maxWaiters === 0;
    const contender = new Contender(this.parts, this, this.key, !isOnce, isOnce ? first : undefined);
    this.contender = contender;
    runOutsideScopes(() => contender.ask());
  }

  private settle(): void {
    if (this.contender || this.fair.size > 0) return;
    this.pollTimer?.stop();
    if (!this.lease && this.waiters.size === 0) this.gates.idle(this.key, this);
  }
}

/** Whether a lease was asked for by somebody else, for longer. A confirmed grant has what was promised with it at least. */
function isTooLong({ confirmed, leaseMs }: Lease, longestAskedMs: number, wantedMs: number): boolean {
  return confirmed && longestAskedMs > wantedMs && leaseMs > Math.max(wantedMs, GRANT_CONFIRM_MS);
}

/** A holder of this process, as errors describe it. */
export function holderOf({ member, token, remainingMs }: Lease): LockHolder {
  return { holder: member, heldSince: Math.floor(token / 1000), remainingMs };
}
