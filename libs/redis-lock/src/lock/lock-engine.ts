import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import type { LockStore } from '../stores/lock-store.js';
import { now } from './clock.js';
import { Contention } from './contention.js';
import { parseDuration, type Duration } from './duration.js';
import { GiveBack } from './give-back.js';
import { Hold, type HoldOwner } from './hold.js';
import { KeyQueues, type KeyQueue } from './key-queue.js';
import type { LockEventEmitter, LockLogger } from './lock-events.js';
import { LockHandle, type HandleOwner, type ReleaseOutcome } from './lock-handle.js';
import type { LockKey } from './lock-key.js';
import type { ClientSettings, LockSettings } from './lock-options.js';
import {
  LockBusyError,
  LockShutdownError,
  LockTimeoutError,
  LockUnavailableError,
  type LockError,
  type LockLostError,
} from './lock.errors.js';
import { Patience } from './patience.js';
import { releaseHold } from './releasing.js';
import { findScope, isInsideLockOf, LockScope, runningScope } from './scope.js';
import { withTimeout } from './timeout.js';
import { Watchdog, type WatchdogListener } from './watchdog.js';

/** Who waits, for the shutdown. */
interface Waiter {
  readonly key: string;
  /** Inside a lock of this client: a shutdown lets it finish. */
  readonly nested: boolean;
}

/** The life of a lock in this process: obtained or entered, kept, released or lost. */
export class LockEngine implements HoldOwner, HandleOwner, WatchdogListener {
  private readonly instance = `${hostname().replace(/[^\w.-]/g, '_')}-${process.pid}-${randomBytes(16).toString('hex')}`;
  private members = 0;
  private readonly queues: KeyQueues;
  private readonly watchdog: Watchdog;
  private readonly giveBack: GiveBack;
  private readonly contention: Contention;
  private readonly holds = new Map<Hold, KeyQueue>();
  private readonly waiters = new Map<Patience, Waiter>();
  private state: 'open' | 'draining' | 'closed' = 'open';
  private allReleased: (() => void) | undefined;

  constructor(
    private readonly store: LockStore,
    private readonly settings: ClientSettings,
    private readonly events: LockEventEmitter,
    private readonly logger: LockLogger,
  ) {
    this.queues = new KeyQueues(settings.enabled);
    this.watchdog = new Watchdog(store, this);
    this.giveBack = new GiveBack(store, settings.commandTimeoutMs, settings.backoff);
    this.contention = new Contention(store, settings, this.giveBack);
  }

  /** @throws LockError */
  async obtain(key: LockKey, settings: LockSettings): Promise<LockHandle> {
    const nested = isInsideLockOf(this);
    if (this.state === 'closed' || (this.state === 'draining' && !nested)) throw new LockShutdownError(key.text);
    const queue = this.queues.enter(key.text);
    const patience = new Patience({
      key: key.text,
      limitMs: settings.waitMs === 0 ? this.settings.commandTimeoutMs : settings.waitMs,
      signal: settings.signal,
      deadlineError: (waitedMs) => deadlineError(key.text, queue, waitedMs),
    });
    this.waiters.set(patience, { key: key.text, nested });
    try {
      patience.throwIfOver();
      for (;;) {
        const around = settings.reentrant ? findScope(({ hold }) => hold.owner === this && hold.key.text === key.text) : undefined;
        const scope = around
          ? await this.reenter(around, settings, queue, patience)
          : await this.acquire(key, settings, queue, patience);
        if (scope) return scope.handle;
      }
    } finally {
      patience.dispose();
      this.waiters.delete(patience);
      this.queues.leave(key.text, queue);
    }
  }

  /** A lock of our own: the turn in this process first, then the store. */
  private async acquire(key: LockKey, settings: LockSettings, queue: KeyQueue, patience: Patience): Promise<LockScope> {
    await this.takeTurn(queue.gate, queue.waiting, key.text, settings, queue, patience);
    try {
      const grant = await this.contention.contend({
        key: key.text,
        queue,
        settings,
        patience,
        newMember: () => `${this.instance}#${++this.members}`,
      });
      const hold = new Hold(this, key, grant.member, grant.token, settings, grant.leaseFrom, grant.leaseMs);
      queue.hold = hold;
      this.queues.enter(key.text, queue);
      this.holds.set(hold, queue);
      this.watchdog.watch(hold);
      this.events.tell('acquired', { ...eventOf(hold), waitedMs: patience.elapsedMs });
      return this.open(hold, undefined);
    } catch (error) {
      queue.gate.leave();
      throw error;
    }
  }

  /** A scope inside of a running one of the same lock; undefined when that one ended while we waited for our turn in it. */
  private async reenter(around: LockScope, settings: LockSettings, queue: KeyQueue, patience: Patience): Promise<LockScope | undefined> {
    const { hold } = around;
    if (hold.lost) throw hold.lost;
    await this.takeTurn(around.inner, around.inner.waiting, hold.key.text, settings, queue, patience);
    try {
      if (hold.lost) throw hold.lost;
      if (!around.running) {
        around.inner.leave();
        return undefined;
      }
      if (!hold.settings.renew) await patience.race(this.setLease(hold, settings.ttlMs));
      hold.minHoldMs = Math.max(hold.minHoldMs, settings.minHoldMs);
      return this.open(hold, around);
    } catch (error) {
      around.inner.leave();
      throw error;
    }
  }

  private async takeTurn(
    gate: { readonly busy: boolean; enter(patience: Patience): Promise<void> },
    waiting: number,
    key: string,
    settings: LockSettings,
    queue: KeyQueue,
    patience: Patience,
  ): Promise<void> {
    if (gate.busy && settings.waitMs === 0) throw new LockBusyError(key, 'a caller of this process holds it or waits for it', queue.holder);
    if (gate.busy && waiting >= settings.maxWaiters) {
      throw new LockBusyError(key, `${waiting} callers of this process wait for it, and "maxWaiters" is ${settings.maxWaiters}`, queue.holder);
    }
    await gate.enter(patience);
  }

  private open(hold: Hold, around: LockScope | undefined): LockScope {
    hold.entries++;
    const scope = new LockScope(hold, runningScope(), around);
    scope.handle = new LockHandle(scope, this);
    return scope;
  }

  async leave(scope: LockScope): Promise<ReleaseOutcome> {
    const { hold } = scope;
    scope.running = false;
    scope.entered?.inner.leave();
    hold.entries--;
    if (hold.entries > 0) return hold.lost ? 'lost' : 'released';
    return this.release(hold);
  }

  private async release(hold: Hold): Promise<ReleaseOutcome> {
    if (hold.isLost) return 'lost';
    this.watchdog.unwatch(hold);
    const outcome = await releaseHold(this.store, hold, this.settings.commandTimeoutMs, this.settings.backoff);
    if (outcome === 'lost') {
      hold.lose(hold.remainingMs > 0 ? 'taken' : 'expired');
      return outcome;
    }
    hold.end();
    if (outcome === 'unknown') this.giveBackLater(hold);
    this.forget(hold);
    this.events.tell('released', { ...eventOf(hold), heldMs: hold.heldMs, outcome });
    return outcome;
  }

  async extend({ hold }: LockScope, ttl: Duration | undefined): Promise<number> {
    const ttlMs = ttl === undefined ? hold.settings.ttlMs : parseDuration(ttl, 'ttl', hold.key.text, { min: 1 });
    await this.setLease(hold, ttlMs);
    return hold.remainingMs;
  }

  /** Sets the lease to `leaseMs` from now, unless it is longer already. */
  private async setLease(hold: Hold, leaseMs: number): Promise<void> {
    const { key, member, token } = hold;
    const sent = now();
    const [reply] = this.store.renew([{ key: key.text, member, token, leaseMs }]);
    if (!reply) throw new LockUnavailableError(key.text, 'the store gave no answer to a renewal');
    const timeoutMs = this.settings.commandTimeoutMs;
    const answer = await withTimeout(reply, timeoutMs, () => new LockUnavailableError(key.text, `Redis did not answer within ${timeoutMs} ms`));
    if (answer.status === 'gone') hold.lose('taken');
    if (hold.lost) throw hold.lost;
    hold.renewed(sent, answer.status === 'renewed' ? answer.remainingMs : 0);
    this.watchdog.leaseChanged(hold);
  }

  onLost(hold: Hold, error: LockLostError): void {
    this.watchdog.unwatch(hold);
    if (error.reason !== 'taken') this.giveBackLater(hold);
    this.forget(hold);
    this.logger.warn(error.message);
    this.events.tell('lost', { ...eventOf(hold), heldMs: hold.heldMs, reason: error.reason, cause: error.cause });
  }

  onRenewalFailed(hold: Hold, cause: unknown): void {
    this.events.tell('renewalFailed', { ...eventOf(hold), remainingMs: hold.remainingMs, cause });
  }

  onHeldLong(hold: Hold): void {
    const heldMs = hold.heldMs;
    this.logger.warn(
      `Lock "${hold.key.text}" has been held for ${Math.round(heldMs / 1000)} s and is renewed for as long as its work runs. ` +
        'Set "maxHold" to bound it, also to a value above what the work needs.',
    );
    this.events.tell('heldLong', { ...eventOf(hold), heldMs });
  }

  /** See LockClient.drain. */
  async drain(): Promise<void> {
    this.state = 'draining';
    this.endWaiting(({ nested }) => !nested);
    if (this.holds.size > 0) await this.untilReleased(this.settings.drainMs);
    this.state = 'closed';
    this.endWaiting(() => true);
    for (const hold of this.holds.keys()) hold.lose('shutdown');
    await this.giveBack.stop();
  }

  private async untilReleased(ms: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve) => {
      this.allReleased = resolve;
      timer = setTimeout(resolve, ms);
    });
    clearTimeout(timer);
  }

  private endWaiting(which: (waiter: Waiter) => boolean): void {
    for (const [patience, waiter] of this.waiters) {
      if (which(waiter)) patience.stop(new LockShutdownError(waiter.key));
    }
  }

  /** The hold is over in this process: the next caller may go to the store. */
  private forget(hold: Hold): void {
    const queue = this.holds.get(hold);
    if (!queue) return;
    this.holds.delete(hold);
    queue.hold = undefined;
    queue.gate.leave();
    this.queues.leave(hold.key.text, queue);
    if (this.holds.size === 0) this.allReleased?.();
  }

  private giveBackLater({ key, member, token, minHoldMs, settings }: Hold): void {
    this.giveBack.add({ key: key.text, member, token, minHoldMs, leaseMs: Math.max(settings.ttlMs, minHoldMs) });
  }
}

function eventOf(hold: Hold): { key: string; template: string; fencingToken: number } {
  return { key: hold.key.text, template: hold.key.template, fencingToken: hold.token };
}

function deadlineError(key: string, queue: KeyQueue, waitedMs: number): LockError {
  const { holder, lastSeen } = queue;
  if (holder) return new LockTimeoutError(key, waitedMs, holder, Math.max(1, queue.waiting));
  return new LockUnavailableError(key, `Redis could not be asked within ${Math.round(waitedMs)} ms`, { cause: lastSeen });
}
