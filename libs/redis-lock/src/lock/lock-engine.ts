import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import type { LockStore } from '../stores/lock-store.js';
import { Contention } from './contention.js';
import type { Gate } from './gate.js';
import { GiveBack } from './give-back.js';
import { Hold } from './hold.js';
import { HoldKeeper } from './hold-keeper.js';
import { KeyQueues, type KeyQueue } from './key-queue.js';
import type { LockEventEmitter, LockLogger } from './lock-events.js';
import type { LockHandle } from './lock-handle.js';
import type { LockKey } from './lock-key.js';
import type { ClientSettings, LockSettings } from './lock-settings.js';
import {
  LockBusyError,
  LockShutdownError,
  LockTimeoutError,
  LockUnavailableError,
  type LockError,
} from './lock.errors.js';
import { Patience } from './patience.js';
import { findScope, isInsideLockOf, type LockScope } from './scope.js';

/** One caller that wants a lock. */
interface Caller {
  readonly key: LockKey;
  readonly settings: LockSettings;
  readonly queue: KeyQueue;
  readonly patience: Patience;
  /** It runs inside of a lock of this client already, so that a shutdown lets it finish. */
  readonly nested: boolean;
}

/** Lets callers into locks: into one that a scope around them holds, or into one of their own. */
export class LockEngine {
  private readonly instance =
    `${hostname().replace(/[^\w.-]/g, '_')}-${process.pid}-` + randomBytes(16).toString('hex');
  private members = 0;
  private readonly queues: KeyQueues;
  private readonly giveBack: GiveBack;
  private readonly contention: Contention;
  private readonly keeper: HoldKeeper;
  private readonly callers = new Set<Caller>();
  private whenNobodyWaits: (() => void) | undefined;
  private state: 'open' | 'draining' | 'closed' = 'open';

  constructor(
    store: LockStore,
    private readonly settings: ClientSettings,
    events: LockEventEmitter,
    logger: LockLogger,
  ) {
    this.queues = new KeyQueues(settings.enabled);
    this.giveBack = new GiveBack(store, settings.commandTimeoutMs, settings.backoff);
    this.contention = new Contention(store, settings, this.giveBack);
    this.keeper = new HoldKeeper({ store, settings, events, logger, queues: this.queues, giveBack: this.giveBack });
  }

  /** @throws LockError */
  async obtain(key: LockKey, settings: LockSettings): Promise<LockHandle> {
    const nested = isInsideLockOf(this.keeper);
    if (this.state === 'closed' || (this.state === 'draining' && !nested)) throw new LockShutdownError(key.text);
    const queue = this.queues.enter(key.text);
    const patience = new Patience({
      key: key.text,
      // One attempt has the time limit of its command.
      limitMs: settings.waitMs === 0 ? Infinity : settings.waitMs,
      signal: settings.signal,
      deadlineError: (waitedMs) => this.deadlineError(key.text, queue, waitedMs),
    });
    const caller = { key, settings, queue, patience, nested };
    this.callers.add(caller);
    const mayEnter = settings.reentrant && this.settings.enabled;
    try {
      patience.throwIfOver();
      let scope: LockScope | undefined;
      while (!scope) {
        const around = mayEnter ? this.findHolding(key) : undefined;
        scope = around ? await this.reenter(caller, around) : await this.acquire(caller);
      }
      return scope.handle;
    } finally {
      patience.dispose();
      this.callers.delete(caller);
      if (this.callers.size === 0) this.whenNobodyWaits?.();
      this.queues.leave(key.text, queue);
    }
  }

  /** See LockClient.drain. */
  async drain(): Promise<void> {
    this.state = 'draining';
    this.turnAway(({ nested }) => !nested);
    await this.keeper.untilEmpty(this.settings.drainMs);
    this.state = 'closed';
    this.turnAway(() => true);
    await this.untilNobodyWaits();
    this.keeper.loseAll();
    await this.giveBack.stop();
  }

  /** Whoever is turned away may have something to give back first. */
  private async untilNobodyWaits(): Promise<void> {
    if (this.callers.size > 0) await new Promise<void>((resolve) => (this.whenNobodyWaits = resolve));
  }

  private turnAway(which: (caller: Caller) => boolean): void {
    for (const caller of this.callers) {
      if (which(caller)) caller.patience.stop(new LockShutdownError(caller.key.text));
    }
  }

  private findHolding(key: LockKey): LockScope | undefined {
    return findScope(({ hold }) => hold.owner === this.keeper && hold.key.text === key.text);
  }

  /** A lock of our own: first the turn in this process, then the store. */
  private async acquire(caller: Caller): Promise<LockScope> {
    const { key, settings, queue, patience } = caller;
    await this.takeTurn(queue.gate, queue.waiting, caller);
    try {
      const newMember = (): string => `${this.instance}#${++this.members}`;
      const grant = await this.contention.contend({ key: key.text, queue, settings, patience, newMember });
      const { member, token, leaseFrom, leaseMs } = grant;
      const hold = new Hold(this.keeper, key, member, token, settings, leaseFrom, leaseMs);
      return this.keeper.keep(hold, queue, patience.elapsedMs);
    } catch (error) {
      queue.gate.leave();
      throw error;
    }
  }

  /**
   * A scope inside of a running one of the same lock; undefined when that one ended while we waited for our turn in it.
   */
  private async reenter(caller: Caller, around: LockScope): Promise<LockScope | undefined> {
    const { hold, inner } = around;
    hold.throwIfLost();
    await this.takeTurn(inner, inner.waiting, caller);
    if (!around.running) {
      inner.leave();
      return undefined;
    }
    // Entered first, so that the hold stays ours while Redis is asked, whoever else leaves it meanwhile.
    const scope = this.keeper.open(hold, around);
    try {
      hold.throwIfLost();
      await this.adjustHold(hold, caller);
      return scope;
    } catch (error) {
      await this.keeper.leave(scope);
      throw error;
    }
  }

  /** A fixed lease begins anew, and a longer minHold counts. */
  private async adjustHold(hold: Hold, { settings: { minHoldMs }, patience }: Caller): Promise<void> {
    const isLonger = minHoldMs > hold.minHoldMs;
    const { renew, ttlMs } = hold.settings;
    if (renew && !isLonger) return;
    await patience.race(this.keeper.setLease(hold, isLonger ? Math.max(ttlMs, minHoldMs) : ttlMs));
    if (isLonger) hold.minHoldMs = minHoldMs;
  }

  /** @throws the reason why a caller does not queue: it does not want to, or too many do already. */
  private async takeTurn(gate: Gate, waiting: number, { key, settings, queue, patience }: Caller): Promise<void> {
    if (gate.busy && settings.waitMs === 0) {
      throw this.refusal(key.text, queue, 'a caller of this process holds it or waits for it');
    }
    if (gate.busy && waiting >= settings.maxWaiters) {
      const reason = `${waiting} callers of this process wait for it, and "maxWaiters" is ${settings.maxWaiters}`;
      throw this.refusal(key.text, queue, reason);
    }
    await gate.enter(patience);
  }

  private refusal(key: string, queue: KeyQueue, reason: string): LockError {
    if (!this.isOutOfReach(queue)) return new LockBusyError(key, reason, queue.holder);
    return new LockUnavailableError(key, 'Redis does not answer those who wait for it', { cause: queue.lastSeen });
  }

  private deadlineError(key: string, queue: KeyQueue, waitedMs: number): LockError {
    const { holder, lastSeen, waiting } = queue;
    if (holder && !this.isOutOfReach(queue)) {
      return new LockTimeoutError(key, waitedMs, holder, Math.max(1, waiting));
    }
    const why = lastSeen instanceof LockUnavailableError ? `; ${lastSeen.what}` : '';
    const what = `Redis did not say within ${Math.round(waitedMs)} ms whether it is free${why}`;
    return new LockUnavailableError(key, what, { cause: lastSeen });
  }

  /** Held, or out of reach? A question that is open for long says that the last answer is no longer true. */
  private isOutOfReach({ hold, lastSeen, unansweredMs }: KeyQueue): boolean {
    if (hold) return false;
    return lastSeen instanceof LockUnavailableError || unansweredMs > this.settings.commandTimeoutMs / 2;
  }
}
