import type { LockStore } from '../stores/lock-store.js';
import { now } from './clock.js';
import { parseDuration, type Duration } from './duration.js';
import type { GiveBack } from './give-back.js';
import type { Hold, HoldOwner } from './hold.js';
import type { KeyQueue, KeyQueues } from './key-queue.js';
import type { LockEventEmitter, LockLogger } from './lock-events.js';
import { LockHandle, type HandleOwner, type ReleaseOutcome } from './lock-handle.js';
import type { ClientSettings } from './lock-settings.js';
import { LockUnavailableError, type LockLostError } from './lock.errors.js';
import { releaseHold } from './releasing.js';
import { LockScope } from './scope.js';
import { withTimeout } from './timeout.js';
import { Watchdog, type WatchdogListener } from './watchdog.js';

export interface HoldKeeperParts {
  readonly store: LockStore;
  readonly settings: ClientSettings;
  readonly events: LockEventEmitter;
  readonly logger: LockLogger;
  readonly queues: KeyQueues;
  readonly giveBack: GiveBack;
}

/** Keeps the locks that this process holds, from their grant until they are given back or lost. */
export class HoldKeeper implements HoldOwner, HandleOwner, WatchdogListener {
  private readonly holds = new Map<Hold, KeyQueue>();
  private readonly watchdog: Watchdog;
  private whenEmpty: (() => void) | undefined;

  constructor(private readonly parts: HoldKeeperParts) {
    this.watchdog = new Watchdog(parts.store, this);
  }

  /** A lock that was just granted to the caller whose turn it is in the queue. */
  keep(hold: Hold, queue: KeyQueue, waitedMs: number): LockScope {
    queue.hold = hold;
    this.parts.queues.enter(hold.key.text, queue);
    this.holds.set(hold, queue);
    if (this.parts.settings.enabled) this.watchdog.watch(hold);
    this.parts.events.tell('acquired', { ...eventOf(hold), waitedMs });
    return this.open(hold);
  }

  /** Enters a hold: as its first scope, or through a scope that is inside of it. */
  open(hold: Hold, through?: LockScope): LockScope {
    hold.entries++;
    const scope = new LockScope(hold, through);
    scope.handle = new LockHandle(scope, this);
    return scope;
  }

  async leave(scope: LockScope): Promise<ReleaseOutcome> {
    const { hold } = scope;
    scope.running = false;
    scope.through?.inner.leave();
    hold.entries--;
    if (hold.entries > 0) return hold.lost ? 'lost' : 'released';
    return this.release(hold);
  }

  async extend({ hold }: LockScope, ttl: Duration | undefined): Promise<void> {
    const { ttlMs } = hold.settings;
    await this.setLease(hold, ttl === undefined ? ttlMs : parseDuration(ttl, 'ttl', hold.key.text, { min: 1 }));
  }

  /**
   * Sets the lease to `leaseMs` from now, unless it is longer already.
   * @throws LockLostError, LockUnavailableError
   */
  async setLease(hold: Hold, leaseMs: number): Promise<void> {
    const { key, member, token } = hold;
    const { commandTimeoutMs } = this.parts.settings;
    const late = (): Error => new LockUnavailableError(key.text, `Redis did not answer within ${commandTimeoutMs} ms`);
    const sent = now();
    const [reply] = this.parts.store.renew([{ key: key.text, member, token, leaseMs }]);
    const answer = reply && (await withTimeout(reply, commandTimeoutMs, late));
    if (answer?.status !== 'renewed') hold.lose('taken');
    else hold.renewed(sent, answer.remainingMs);
    hold.throwIfLost();
    this.watchdog.leaseChanged(hold);
  }

  /** Waits until nothing is held any more, `ms` at most. */
  async untilEmpty(ms: number): Promise<void> {
    if (this.holds.size === 0) return;
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve) => {
      this.whenEmpty = resolve;
      timer = setTimeout(resolve, ms);
    });
    clearTimeout(timer);
  }

  loseAll(): void {
    for (const hold of this.holds.keys()) hold.lose('shutdown');
  }

  onLost(hold: Hold, error: LockLostError): void {
    const { logger, events } = this.parts;
    this.watchdog.unwatch(hold);
    if (error.reason !== 'taken') this.giveBackLater(hold);
    this.forget(hold);
    logger.warn(error.message);
    events.tell('lost', { ...eventOf(hold), heldMs: hold.heldMs, reason: error.reason, cause: error.cause });
  }

  onRenewalFailed(hold: Hold, cause: unknown): void {
    this.parts.events.tell('renewalFailed', { ...eventOf(hold), remainingMs: hold.remainingMs, cause });
  }

  onHeldLong(hold: Hold): void {
    const { heldMs } = hold;
    this.parts.logger.warn(
      `Lock "${hold.key.text}" has been held for ${Math.round(heldMs / 1000)} s and is renewed for as long as its ` +
        'work runs. Set "maxHold" to bound it, also to a value above what the work needs.',
    );
    this.parts.events.tell('heldLong', { ...eventOf(hold), heldMs });
  }

  private async release(hold: Hold): Promise<ReleaseOutcome> {
    if (hold.isLost) return 'lost';
    const { store, settings, events } = this.parts;
    this.watchdog.unwatch(hold);
    const outcome = await releaseHold(store, hold, settings.commandTimeoutMs, settings.backoff);
    if (outcome === 'lost') {
      hold.lose(hold.remainingMs > 0 ? 'taken' : 'expired');
      return outcome;
    }
    hold.end();
    if (outcome === 'unknown') this.giveBackLater(hold);
    this.forget(hold);
    events.tell('released', { ...eventOf(hold), heldMs: hold.heldMs, outcome });
    return outcome;
  }

  /** The hold is over in this process: the next caller may go to the store. */
  private forget(hold: Hold): void {
    const queue = this.holds.get(hold);
    if (!queue) return;
    this.holds.delete(hold);
    queue.hold = undefined;
    queue.gate.leave();
    this.parts.queues.leave(hold.key.text, queue);
    if (this.holds.size === 0) this.whenEmpty?.();
  }

  private giveBackLater({ key, member, token, minHoldMs, leaseMs }: Hold): void {
    this.parts.giveBack.add({ key: key.text, member, token, minHoldMs, leaseMs });
  }
}

function eventOf({ key, token }: Hold): { key: string; template: string; fencingToken: number } {
  return { key: key.text, template: key.template, fencingToken: token };
}
