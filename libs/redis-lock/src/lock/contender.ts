import {
  GRANT_CONFIRM_MS,
  POLL_CAP_MS,
  type AcquireReply,
  type AcquiredReply,
  type HeldReply,
  type LockStore,
  type ReplicaDemand,
  type Share,
  type Successor,
} from '../stores/lock-store.js';
import { backoffDelay } from './backoff.js';
import type { Link } from './chain.js';
import { driftOf, elapsedSince, now, type Moment } from './clock.js';
import type { Deadlines } from './deadlines.js';
import type { GiveBack } from './give-back.js';
import type { GrantReceiver, Inbox } from './inbox.js';
import { Lease } from './lease.js';
import type { Waiter } from './local-gate.js';
import type { ClientSettings } from './lock-settings.js';
import { LockUnavailableError } from './lock.errors.js';
import { runOutsideScopes } from './scope.js';

/** What is left of a lease that is got by asking once more may be this part of what was asked for. */
const ENOUGH = 0.7;

/** How long after it was woken a contender asks, in ms: others who were woken by mistake should not meet it. */
const WOKEN_MS = { min: 1, max: 5 };

/** What all contenders of a client share. */
export interface ContenderParts {
  readonly store: LockStore;
  readonly settings: ClientSettings;
  /** Time limits of commands. */
  readonly deadlines: Deadlines;
  readonly giveBack: GiveBack;
  readonly inbox: Inbox;
  readonly newMember: () => string;
}

/** What the caller that is next asks for. */
export interface Wish {
  /** The lease, in ms. */
  readonly leaseMs: number;
  /** How late the store may still carry out a command that is sent now, in ms. */
  readonly withinMs: number;
  /** A grant is not enough to begin with: its lease must have its whole length first. */
  readonly confirmed: boolean;
  /** Which replicas must have the lock first. */
  readonly replicas: ReplicaDemand | undefined;
}

/** Whom a contender stands for. */
export interface ContenderOwner {
  wishOf(contender: Contender): Wish;
  obtained(contender: Contender, lease: Lease): void;
  /** It is not to be had: the store cannot be asked, or the only attempt found it held. The contender is over. */
  refused(contender: Contender, reason: HeldReply | LockUnavailableError): void;
  /** It waits in the store, and has to ask again after `ms` if it is not told before. */
  waits(ms: number): void;
  /** It had lost its place in the store, or may have, and others of this process may have as well. */
  rejoined(contender: Contender): void;
}

/** One question to the store. */
export interface Attempt {
  readonly member: string;
  readonly stillWanted: () => boolean;
  /** When it left, or when it was made as long as it has not, and the connection it left on. */
  sentAt: Moment;
  generation: number;
  sent: boolean;
}

/**
 * Stands for waiting callers in the store under one member after another: asks, queues, takes a grant, and asks again
 * when it hears nothing. It also knows what became of every question, so that nothing stays in the store in its name:
 * an answer may come when nobody wants it any more, or after the lock has been got another way.
 */
export class Contender implements GrantReceiver {
  /** What the store said last, or why it could not be asked. */
  seen: HeldReply | LockUnavailableError | undefined;
  /** Its place among the contenders of fair callers. */
  place: Link<Contender> | undefined;
  private state: 'waiting' | 'confirming' | 'holding' | 'over' = 'waiting';
  private member: string;
  /** The lease that it asked for last, in ms. */
  private leaseMs = 1;
  /** The longest and the shortest one that was asked for under this member, in ms: an answer may be about those. */
  longestAskedMs = 1;
  private shortestAskedMs = Infinity;
  private lease: Lease | undefined;
  private arrival: number | undefined;
  /** Whether the member stood in the queue of the store at the last answer. */
  private queued = false;
  private uncountable = false;
  /** The newest question that was answered *not yours*. */
  private lastHeld: Attempt | undefined;
  /** The highest token that any answer showed. */
  private highest = 0;
  /** The question whose answer is due. */
  private question: Attempt | undefined;
  private unanswered = 0;
  private uncertain = false;
  private failures = 0;
  /** Woken while an answer was due. */
  private woken = false;
  private retry: NodeJS.Timeout | undefined;

  /**
   * @param queues false: one attempt.
   * @param only the caller that it stands for, if that is one and stays the same.
   */
  constructor(
    private readonly parts: ContenderParts,
    private readonly owner: ContenderOwner,
    private readonly key: string,
    private readonly queues: boolean,
    readonly only?: Waiter,
  ) {
    this.member = parts.newMember();
    if (queues) parts.inbox.expect(this.member, this);
  }

  /** What it stands for; undefined: the whole lock. */
  private get share(): Share | undefined {
    return this.only?.settings.share;
  }

  /** For how long the store has owed an answer, in ms. */
  get unansweredMs(): number {
    return this.question ? elapsedSince(this.question.sentAt) : 0;
  }

  /** Asks the store, unless an answer is due. */
  ask(): void {
    if (this.state !== 'waiting' || this.question) return;
    const { store, settings, deadlines, inbox } = this.parts;
    const queues = this.queues && (inbox.usable || inbox.wakes);
    // Whom nobody can tell must not stand in the queue.
    if (this.queued && !queues) this.changeMember(true);
    const attempt = this.begin();
    const timeoutMs = settings.commandTimeoutMs;
    const wish = this.owner.wishOf(this);
    this.wish(wish.leaseMs);
    const asked = store.acquire({
      key: this.key,
      member: attempt.member,
      leaseMs: wish.leaseMs,
      share: this.share,
      withinMs: Math.max(1, Math.min(timeoutMs, wish.withinMs)),
      queue: queues ? { arrival: this.arrival, uncountable: this.uncountable } : undefined,
      stillWanted: attempt.stillWanted,
    });
    const limit = deadlines.in(timeoutMs, () => {
      const what = `Redis did not answer within ${Math.round(timeoutMs)} ms`;
      this.overdue(attempt, new LockUnavailableError(this.key, what));
    });
    asked.then(
      (reply) => {
        limit.cancel();
        this.heard(attempt, reply);
      },
      (error: unknown) => {
        limit.cancel();
        this.unheard(attempt, error);
      },
    );
  }

  /** What a release takes along that queues it in the same step; the answer comes to {@link heard} or {@link unheard}. */
  asSuccessor(): { readonly attempt: Attempt; readonly successor: Successor } | undefined {
    if (this.state !== 'waiting') return undefined;
    const attempt = this.begin();
    attempt.stillWanted();
    this.wish(this.owner.wishOf(this).leaseMs);
    const { member, leaseMs, arrival, uncountable } = this;
    return { attempt, successor: { member, leaseMs, arrival, uncountable } };
  }

  /** An answer, however late; undefined: the release queued nobody. */
  heard(attempt: Attempt, reply: AcquireReply | undefined): void {
    this.settle(attempt);
    if (this.state !== 'waiting' || attempt.member !== this.member) {
      if (reply) this.heardLate(attempt, reply);
      return;
    }
    clearTimeout(this.retry);
    if (!reply) this.ask();
    else if (reply.status === 'held') this.wasHeld(attempt, reply);
    else this.acquired(attempt, reply);
  }

  /** A question has come to nothing; it may have been carried out all the same. */
  unheard(attempt: Attempt, error: unknown): void {
    if (!(error instanceof LockUnavailableError) || error.mayHaveRun) this.uncertain = true;
    if (attempt.sent) this.unanswered--;
    this.overdue(attempt, error);
  }

  /** The answer is not waited for any longer; it may still come. Nobody cares if the question is settled another way. */
  overdue(attempt: Attempt, error: unknown): void {
    if (this.question !== attempt) return;
    this.question = undefined;
    if (this.state === 'waiting') this.failed(error);
  }

  granted(token: number): void {
    const { lastHeld, member } = this;
    if (this.lease && token > this.lease.token) this.loseTo(member);
    if (this.state !== 'waiting' || token <= this.highest) return;
    const lease = Lease.ofGrant(this.key, member, token, lastHeld?.sentAt ?? now(), this.share);
    const certain = lastHeld?.generation === this.parts.inbox.generation && lease.remainingMs > GRANT_CONFIRM_MS / 3;
    this.take(lease, certain);
  }

  freed(): void {
    this.failures = 0;
    this.woken = true;
    if (this.state === 'waiting' && !this.question) this.retryAfter(this.pauseMs());
  }

  /** Nobody wants the lock any more. */
  abandon(): void {
    if (this.state === 'over') return;
    const mayHave = this.state === 'confirming' || this.queued || this.unanswered > 0 || this.uncertain;
    this.end();
    if (mayHave) this.leave(this.member);
  }

  /** The lease that it got has ended. */
  end(): void {
    this.state = 'over';
    clearTimeout(this.retry);
    if (this.queues) this.parts.inbox.forget(this.member);
  }

  private begin(): Attempt {
    const { member } = this;
    const attempt: Attempt = {
      member,
      generation: this.parts.inbox.generation,
      sentAt: now(),
      sent: false,
      stillWanted: () => {
        if (this.state !== 'waiting' || member !== this.member) return false;
        if (!attempt.sent) this.unanswered++;
        attempt.sent = true;
        attempt.sentAt = now();
        attempt.generation = this.parts.inbox.generation;
        return true;
      },
    };
    this.question = attempt;
    return attempt;
  }

  private wasHeld(attempt: Attempt, reply: HeldReply): void {
    const { inbox } = this.parts;
    if (!(this.lastHeld && attempt.sentAt.monotonic < this.lastHeld.sentAt.monotonic)) this.lastHeld = attempt;
    this.highest = Math.max(this.highest, reply.token);
    this.seen = reply;
    if (!this.queues) return this.refuse(reply);
    const soon = reply.remainingMs < 0 ? Infinity : reply.remainingMs + 1 + Math.random() * 10;
    const { place } = reply;
    this.queued = place !== undefined || inbox.wakes;
    if (inbox.wakes) inbox.open();
    if (!place || !inbox.usable) {
      this.retryAfter(Math.min(soon, this.pauseMs()));
      return;
    }
    this.failures = 0;
    this.arrival = place.arrival;
    if (place.listening) inbox.seen();
    if (place.listening === undefined) inbox.open();
    if (place.listening === false && !this.uncountable && inbox.notSeen(attempt.sentAt.monotonic)) {
      this.uncountable = true;
      return this.ask();
    }
    if (place.rejoined) this.owner.rejoined(this);
    this.owner.waits(Math.min(soon, POLL_CAP_MS));
  }

  private acquired({ sentAt, member }: Attempt, reply: AcquiredReply): void {
    const { token, remainingMs, granted = false } = reply;
    if (granted) this.parts.inbox.foundByAsking();
    // Whoever waits is told of its grant. That it was not may mean that Redis has forgotten who waits.
    else if (this.queued && this.parts.inbox.usable) this.owner.rejoined(this);
    const lease = new Lease(this.key, member, token, sentAt, remainingMs, !granted, this.share);
    lease.reply = reply;
    this.take(lease, lease.remainingMs > (granted ? GRANT_CONFIRM_MS / 3 : 0));
  }

  /** A lease that is not certain, or shorter than the next caller wants it to begin with, is renewed first. */
  private take(lease: Lease, certain: boolean): void {
    const wish = this.owner.wishOf(this);
    if (certain && this.suffices(lease, wish)) this.obtain(lease);
    else void this.confirm(lease);
  }

  private suffices({ confirmed, leaseMs }: Lease, wish: Wish): boolean {
    if (wish.replicas) return false;
    if (confirmed && leaseMs >= wish.leaseMs) return true;
    if (wish.confirmed) return false;
    return !confirmed || (this.shortestAskedMs >= wish.leaseMs && leaseMs > ENOUGH * wish.leaseMs);
  }

  /** Makes sure of a lease before anybody works under it. */
  private async confirm(lease: Lease): Promise<void> {
    this.state = 'confirming';
    this.lease = lease;
    const { store, settings, deadlines } = this.parts;
    const { key, member, token } = lease;
    const wish = this.owner.wishOf(this);
    const { replicas } = wish;
    this.wish(wish.leaseMs);
    // With a lease that drift alone uses up, there is nothing to make sure of.
    if (this.leaseMs <= driftOf(this.leaseMs)) return this.again(leaseTooShort(key));
    const sent = now();
    try {
      const [answer] = store.renew([{ key, member, token, leaseMs: this.leaseMs, share: lease.share, replicas }]);
      const limitMs = settings.commandTimeoutMs + (replicas?.timeoutMs ?? 0);
      const late = (): Error => new LockUnavailableError(key, 'a grant could not be confirmed in time');
      const reply = answer && (await deadlines.limit(answer, limitMs, late));
      if (this.state !== 'confirming') return;
      if (reply?.status !== 'renewed') {
        this.highest = Math.max(this.highest, token);
        return this.again();
      }
      lease.renewed(sent, reply);
      lease.replicas = replicas;
      if (lease.remainingMs > 0) this.obtain(lease);
      else this.again(leaseTooShort(key));
    } catch (error) {
      if (this.state === 'confirming') this.again(error);
    }
  }

  private obtain(lease: Lease): void {
    this.state = 'holding';
    this.lease = lease;
    lease.whenEnded = () => this.end();
    clearTimeout(this.retry);
    this.owner.obtained(this, lease);
  }

  /** Begins anew: at once, or after a pause where something has failed. */
  private again(failure?: unknown): void {
    this.changeMember(failure !== undefined || this.uncertain || this.unanswered > 0);
    this.lease = undefined;
    this.question = undefined;
    this.state = 'waiting';
    if (failure) this.failed(failure);
    else this.ask();
  }

  /** A member is never used again once it has had the lock or has left. */
  private changeMember(leaves: boolean): void {
    const { inbox, newMember } = this.parts;
    if (leaves) this.leave(this.member);
    inbox.forget(this.member);
    this.member = newMember();
    if (this.queues) inbox.expect(this.member, this);
    this.uncertain = this.queued = false;
    this.longestAskedMs = 1;
    this.shortestAskedMs = Infinity;
  }

  private wish(leaseMs: number): void {
    this.leaseMs = leaseMs;
    this.longestAskedMs = Math.max(this.longestAskedMs, leaseMs);
    this.shortestAskedMs = Math.min(this.shortestAskedMs, leaseMs);
  }

  private settle(attempt: Attempt): void {
    if (attempt.sent) this.unanswered--;
    if (this.question === attempt) this.question = undefined;
  }

  private failed(error: unknown): void {
    const reason =
      error instanceof LockUnavailableError
        ? error
        : new LockUnavailableError(this.key, 'the store failed', { cause: error, retryable: false });
    // A store that was only slow is there, and what it said before still stands.
    if (!reason.late || !this.seen) this.seen = reason;
    if (!this.queues || !reason.retryable || reason.acknowledged !== undefined) return this.refuse(reason);
    this.retryAfter(this.pauseMs());
  }

  /** How long until it asks again by itself. */
  private pauseMs(): number {
    if (!this.woken) return backoffDelay(this.failures++, this.parts.settings.backoff);
    this.woken = false;
    return WOKEN_MS.min + (WOKEN_MS.max - WOKEN_MS.min) * Math.random();
  }

  private refuse(reason: HeldReply | LockUnavailableError): void {
    this.abandon();
    this.owner.refused(this, reason);
  }

  private retryAfter(ms: number): void {
    clearTimeout(this.retry);
    runOutsideScopes(() => {
      this.retry = setTimeout(() => this.ask(), ms);
    });
  }

  /** An answer to a question that is settled another way, or that nobody waits for any more. */
  private heardLate({ member, sentAt }: Attempt, reply: AcquireReply): void {
    const lease = this.lease?.member === member ? this.lease : undefined;
    const isOurs = reply.status === 'acquired' && reply.token === lease?.token;
    if (isOurs && this.state === 'holding' && !reply.granted) lease?.renewed(sentAt, reply);
    // It was carried out before we got ours.
    if (isOurs || (lease && reply.token < lease.token)) return;
    if (lease && this.state === 'holding') this.loseTo(member);
    else if (reply.status === 'acquired' || reply.place) this.leave(member);
  }

  /** The store has given the lock to a later acquisition: ours had ended. */
  private loseTo(member: string): void {
    this.lease?.hold?.lose('taken');
    this.leave(member);
  }

  private leave(member: string): void {
    // A place in the queue does not end by itself while others wait.
    const leaseMs = this.queues ? Infinity : this.leaseMs;
    this.parts.giveBack.add({ key: this.key, member, share: this.share, minHoldMs: 0, leaseMs });
  }
}

function leaseTooShort(key: string): LockUnavailableError {
  return new LockUnavailableError(key, 'its lease was over before the answer arrived; raise "ttl"');
}
