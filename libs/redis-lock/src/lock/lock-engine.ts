import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { GRANT_LEASE_MS, type LockStore } from '../stores/lock-store.js';
import { Caller, type CallerOwner } from './caller.js';
import { Chain } from './chain.js';
import type { Gate } from './gate.js';
import { Deadlines } from './deadlines.js';
import { GiveBack } from './give-back.js';
import { Hold } from './hold.js';
import { HoldKeeper } from './hold-keeper.js';
import { Inbox } from './inbox.js';
import type { Lease } from './lease.js';
import { holderOf, type LocalGate } from './local-gate.js';
import type { LockEventEmitter, LockLogger } from './lock-events.js';
import { LockGates } from './lock-gates.js';
import type { LockHandle } from './lock-handle.js';
import type { LockKey } from './lock-key.js';
import type { ClientSettings, LockSettings } from './lock-settings.js';
import {
  isLockError,
  LockArgumentError,
  LockBusyError,
  LockShutdownError,
  LockTimeoutError,
  LockUnavailableError,
  type LockError,
  type LockHolder,
} from './lock.errors.js';
import { findScope, isInsideLockOf, type LockScope } from './scope.js';
import { covers, whyNever } from './shares.js';

/** Lets callers into locks: into one that a scope around them holds, or into one of their own. */
export class LockEngine implements CallerOwner {
  private readonly instance =
    `${hostname().replace(/[^\w.-]/g, '_')}-${process.pid}-` + randomBytes(16).toString('hex');
  private members = 0;
  private readonly deadlines = new Deadlines();
  private readonly gates: LockGates;
  private readonly giveBack: GiveBack;
  private readonly inbox: Inbox;
  private readonly keeper: HoldKeeper;
  private readonly callers = new Chain<Caller>();
  private whenNobodyWaits: (() => void) | undefined;
  private state: 'open' | 'draining' | 'closed' = 'open';

  constructor(
    store: LockStore,
    private readonly settings: ClientSettings,
    private readonly events: LockEventEmitter,
    logger: LockLogger,
  ) {
    const { deadlines } = this;
    const giveBack = new GiveBack(store, deadlines, settings.commandTimeoutMs, settings.backoff);
    const inbox = new Inbox(store, this.instance, ({ key, member, token, share }) =>
      giveBack.add({ key, member, token, share, minHoldMs: 0, leaseMs: GRANT_LEASE_MS }),
    );
    const newMember = (): string => `${this.instance}#${++this.members}`;
    const parts = { store, settings, deadlines, giveBack, inbox, newMember };
    this.giveBack = giveBack;
    this.inbox = inbox;
    this.gates = new LockGates(parts, settings.enabled);
    this.keeper = new HoldKeeper({ ...parts, events, logger });
  }

  /** Rejects with a LockError. */
  obtain(key: LockKey, settings: LockSettings): Promise<LockHandle> {
    const nested = isInsideLockOf(this.keeper);
    if (this.state === 'closed' || (this.state === 'draining' && !nested)) {
      return Promise.reject(this.refused(key, new LockShutdownError(key.text), 0));
    }
    const never = nested && this.settings.enabled ? this.whyNever(key, settings) : undefined;
    if (never) return Promise.reject(this.refused(key, never, 0));
    const caller = new Caller(this, key, settings, nested, this.deadlines);
    caller.enrolment = this.callers.add(caller);
    const around = settings.reentrant && this.settings.enabled ? this.findHolding(caller) : undefined;
    return around ? this.obtainInside(caller, around) : this.acquire(caller);
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

  /** Nobody is told of grants any more, and no timer is left; after {@link drain}. */
  async close(): Promise<void> {
    this.keeper.close();
    this.deadlines.clear();
    await this.inbox.close();
  }

  /** See LockClient.askAgain. */
  askAgain(key: LockKey): void {
    this.gates.askAgain(key.text);
  }

  /** See LockClient.takeAway. */
  async takeAway(key: LockKey): Promise<boolean> {
    return this.keeper.takeAway(key.text);
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

  /** The nearest scope around the caller that has what it wants. */
  private findHolding({ key, settings: { share } }: Pick<Caller, 'key' | 'settings'>): LockScope | undefined {
    return findScope(({ hold }) => this.isOf(hold, key) && covers(hold.lease.share, share));
  }

  private isOf(hold: Hold, key: LockKey): boolean {
    return hold.owner === this.keeper && hold.key.text === key.text;
  }

  /** What would wait for a share that is around it is told so at once. */
  private whyNever(key: LockKey, settings: LockSettings): LockArgumentError | undefined {
    const nearest = findScope(({ hold }) => this.isOf(hold, key));
    if (!nearest || (settings.reentrant && this.findHolding({ key, settings }))) return undefined;
    const { share } = nearest.hold.lease;
    const why = share || settings.share ? whyNever(share, settings.share) : undefined;
    return why === undefined ? undefined : new LockArgumentError(`Lock "${key.text}": ${why}.`, key.text);
  }

  entered({ key, settings, patience }: Caller, gate: LocalGate, lease: Lease, fencingToken: number): LockHandle {
    const hold = new Hold(this.keeper, key, lease, fencingToken, settings);
    return this.keeper.keep(hold, gate, patience.elapsedMs).handle;
  }

  dismiss(caller: Caller, error?: LockError): void {
    caller.patience.dispose();
    if (!caller.enrolment?.remove()) return;
    if (error) this.refused(caller.key, error, caller.patience.elapsedMs);
    if (this.callers.size === 0) this.whenNobodyWaits?.();
  }

  deadlineError(caller: Caller, gate: LocalGate, waitedMs: number): LockError {
    const unreachable = gate.unreachableFor(caller);
    const holder = gate.holderFor(caller);
    if (!holder || unreachable) return unanswered(caller.key.text, waitedMs, unreachable?.cause);
    return new LockTimeoutError(caller.key.text, waitedMs, holder, gate.waitingFor(caller));
  }

  /** A lock of our own, through the gate of its key. */
  private acquire(caller: Caller): Promise<LockHandle> {
    const gate = this.gates.of(caller.key.text, caller.settings.share);
    const refusal = caller.patience.over ?? this.refusal(caller, gate);
    if (!refusal) return caller.waitAt(gate);
    this.dismiss(caller, refusal);
    return Promise.reject(refusal);
  }

  /** A lock that a scope around the caller holds; if that ends while the caller waits for its turn in it, one of our own. */
  private async obtainInside(caller: Caller, around: LockScope): Promise<LockHandle> {
    try {
      caller.patience.throwIfOver();
      for (let scope: LockScope | undefined = around; scope; scope = this.findHolding(caller)) {
        const inside = await this.reenter(caller, scope);
        if (inside) return inside.handle;
      }
      return await this.acquire(caller);
    } catch (error) {
      if (isLockError(error)) this.dismiss(caller, error);
      throw error;
    } finally {
      this.dismiss(caller);
    }
  }

  private refused(key: LockKey, error: LockError, waitedMs: number): LockError {
    this.events.tell('refused', { key: key.text, template: key.template, code: error.code, waitedMs });
    return error;
  }

  /**
   * A scope inside of a running one of the same lock; undefined when that one ended while we waited for our turn in it.
   */
  private async reenter(caller: Caller, around: LockScope): Promise<LockScope | undefined> {
    const { hold, inner } = around;
    hold.throwIfLost();
    await this.takeTurn(inner, holderOf(hold.lease), caller);
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
    const changed = this.keeper.setLease(hold, isLonger ? Math.max(ttlMs, minHoldMs) : ttlMs);
    await patience.race(changed, (waitedMs) => unanswered(hold.key.text, waitedMs));
    if (isLonger) hold.minHoldMs = minHoldMs;
  }

  /** Waits for a turn among the calls that run side by side in one scope. */
  private async takeTurn(inner: Gate, holder: LockHolder, caller: Caller): Promise<void> {
    const { key, settings, patience } = caller;
    if (inner.busy && settings.waitMs === 0) throw new LockBusyError(key.text, IN_THIS_PROCESS, holder);
    if (inner.busy && inner.waiting >= settings.maxWaiters) {
      throw new LockBusyError(key.text, tooMany(inner.waiting, settings), holder);
    }
    const late = (waitedMs: number): LockError =>
      new LockTimeoutError(key.text, waitedMs, holder, Math.max(1, inner.waiting));
    await inner.enter(patience, late);
  }

  /** Why a caller does not queue: it does not want to, or too many do already. */
  private refusal({ key, settings }: Caller, gate: LocalGate): LockError | undefined {
    const isCrowded = (gate.busy || gate.waiting > 0) && gate.waiting >= settings.maxWaiters;
    if (!isCrowded && !(gate.busy && settings.waitMs === 0)) return undefined;
    const unreachable = gate.unreachableFor();
    if (unreachable)
      return new LockUnavailableError(key.text, 'Redis does not answer those who wait for it', unreachable);
    const reason = settings.waitMs === 0 ? IN_THIS_PROCESS : tooMany(gate.waiting, settings);
    return new LockBusyError(key.text, reason, gate.holderFor());
  }
}

const IN_THIS_PROCESS = 'a caller of this process holds it or waits for it';

function tooMany(waiting: number, { maxWaiters }: LockSettings): string {
  return `${waiting} callers of this process wait for it, and "maxWaiters" is ${maxWaiters}`;
}

function unanswered(key: string, waitedMs: number, cause?: unknown): LockUnavailableError {
  const why = cause instanceof LockUnavailableError ? `; ${cause.what}` : '';
  const what = `Redis did not say within ${Math.round(waitedMs)} ms whether it is free${why}`;
  return new LockUnavailableError(key, what, { cause });
}
