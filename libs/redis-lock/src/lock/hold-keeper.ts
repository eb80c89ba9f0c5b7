import { Chain } from './chain.js';
import { now } from './clock.js';
import type { ContenderParts } from './contender.js';
import { parseDuration, type Duration } from './duration.js';
import type { Hold, HoldOwner } from './hold.js';
import type { LocalGate } from './local-gate.js';
import type { LockEventEmitter, LockEvents, LockLogger } from './lock-events.js';
import { LockHandle, type HandleOwner, type ReleaseOutcome } from './lock-handle.js';
import { LockArgumentError, LockUnavailableError, type LockLostError } from './lock.errors.js';
import { giveUp } from './releasing.js';
import { LockScope, runOutsideScopes } from './scope.js';
import { isWriter, READER, WRITER } from './shares.js';
import { Watchdog, type WatchdogListener } from './watchdog.js';

export interface HoldKeeperParts extends ContenderParts {
  readonly events: LockEventEmitter;
  readonly logger: LockLogger;
}

/** Keeps the locks that this process holds, from their grant until they are given back or lost. */
export class HoldKeeper implements HoldOwner, HandleOwner, WatchdogListener {
  private readonly holds = new Chain<Hold>();
  private readonly watchdog: Watchdog;
  private whenEmpty: (() => void) | undefined;

  constructor(private readonly parts: HoldKeeperParts) {
    this.watchdog = new Watchdog(parts.store, this);
  }

  /** A lock that a caller has just got through a gate. */
  keep(hold: Hold, gate: LocalGate, waitedMs: number): LockScope {
    const { lease } = hold;
    const wasHandedOver = lease.hold !== undefined;
    lease.hold = hold;
    hold.gate = gate;
    hold.link = this.holds.add(hold);
    if (wasHandedOver) this.watchdog.handedOver(lease);
    else if (this.parts.settings.enabled) this.watchdog.watch(lease, hold);
    this.tell('acquired', hold, { waitedMs });
    return this.open(hold);
  }

  /** Enters a hold: as its first scope, or through a scope that is inside of it. */
  open(hold: Hold, through?: LockScope): LockScope {
    hold.entries++;
    const scope = new LockScope(hold, through);
    scope.handle = new LockHandle(scope, this);
    return scope;
  }

  get fences(): boolean {
    return !this.parts.store.lacks?.includes('fencing');
  }

  leave(scope: LockScope): Promise<ReleaseOutcome> {
    const { hold } = scope;
    scope.running = false;
    scope.through?.inner.leave();
    hold.entries--;
    if (hold.entries > 0) return Promise.resolve(hold.lost ? 'lost' : 'released');
    return this.release(hold);
  }

  async extend({ hold }: LockScope, ttl: Duration | undefined): Promise<void> {
    const { ttlMs } = hold.settings;
    await this.setLease(hold, ttl === undefined ? ttlMs : parseDuration(ttl, 'ttl', hold.key.text, { min: 1 }));
  }

  /** See LockHandle.downgrade. */
  async downgrade({ hold }: LockScope): Promise<void> {
    const { key, lease, settings } = hold;
    if (!isWriter(settings.share)) throw notDowngraded(key.text, 'only a writer can; acquire it with mode "write"');
    if (hold.entries > 1) throw notDowngraded(key.text, 'calls that entered it run as the writer still');
    const { member, token } = lease;
    // First, so that nothing enters as the writer from now on.
    lease.share = READER;
    const reduced = this.parts.store.reduce?.({ key: key.text, member, token, share: WRITER });
    if ((await this.answerOf(key.text, reduced)) !== true) lease.hold?.lose('taken');
    hold.throwIfLost();
  }

  /**
   * Sets the lease to `leaseMs` from now, unless it is longer already.
   * @throws LockLostError, LockUnavailableError
   */
  async setLease(hold: Hold, leaseMs: number): Promise<void> {
    const { key, lease } = hold;
    const sent = now();
    const { member, token, share } = lease;
    const [reply] = this.parts.store.renew([{ key: key.text, member, token, share, leaseMs }]);
    hold.extending++;
    const settled = (): unknown => hold.extending--;
    reply?.then(settled, settled);
    const answer = await this.answerOf(key.text, reply);
    if (answer?.status !== 'renewed') lease.hold?.lose('taken');
    else lease.renewed(sent, answer);
    hold.throwIfLost();
    this.watchdog.leaseChanged(lease);
  }

  private async answerOf<T>(key: string, reply: Promise<T> | undefined): Promise<T | undefined> {
    const { deadlines, settings } = this.parts;
    const { commandTimeoutMs } = settings;
    const late = (): Error => new LockUnavailableError(key, `Redis did not answer within ${commandTimeoutMs} ms`);
    return reply && deadlines.limit(reply, commandTimeoutMs, late);
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

  /** No lease is kept any more; after {@link loseAll}. */
  close(): void {
    this.watchdog.close();
  }

  loseAll(): void {
    for (const hold of this.holds) hold.lose('shutdown');
  }

  /** Takes a key away from whoever holds it here, as a failover does, and says whether anybody did; for tests. */
  async takeAway(key: string): Promise<boolean> {
    const leases = [...this.holds].filter((hold) => hold.key.text === key && !hold.lost).map(({ lease }) => lease);
    for (const lease of leases) {
      const { member, token, share } = lease;
      await this.parts.store.release({ key, member, token, share, minHoldMs: 0 });
      // It may have been handed over meanwhile.
      lease.hold?.lose('taken');
    }
    return leases.length > 0;
  }

  onLost(hold: Hold, error: LockLostError): void {
    const { key, lease, minHoldMs } = hold;
    this.watchdog.unwatch(lease);
    if (error.reason !== 'taken') {
      const { member, token, share, leaseMs } = lease;
      this.parts.giveBack.add({ key: key.text, member, token, share, minHoldMs, leaseMs });
    }
    this.forget(hold);
    lease.whenEnded?.();
    this.parts.logger.warn(error.message);
    this.tell('lost', hold, { heldMs: hold.heldMs, reason: error.reason, cause: error.cause });
  }

  onRenewalFailed(hold: Hold, cause: unknown): void {
    this.tell('renewalFailed', hold, { remainingMs: hold.remainingMs, cause });
  }

  onHeldLong(hold: Hold): void {
    const { heldMs } = hold;
    this.parts.logger.warn(
      `Lock "${hold.key.text}" has been held for ${Math.round(heldMs / 1000)} s and is renewed for as long as its ` +
        'work runs. Set "maxHold" to bound it, also to a value above what the work needs.',
    );
    this.tell('heldLong', hold, { heldMs });
  }

  private release(hold: Hold): Promise<ReleaseOutcome> {
    if (hold.isLost) return Promise.resolve('lost');
    const { lease, gate } = hold;
    const next = gate?.nextFor(hold);
    if (gate && next) {
      hold.end();
      this.takeOut(hold);
      this.tell('released', hold, { heldMs: hold.heldMs, outcome: 'released' });
      gate.handOver(lease, next);
      return Promise.resolve('released');
    }
    this.watchdog.unwatch(lease);
    const wasHeld = hold.remainingMs > 0;
    const successor = gate?.successorOf(lease);
    const over = (outcome: ReleaseOutcome): void => {
      lease.whenEnded?.();
      // Redis does not say, so that the clock decides.
      if (outcome === 'lost' || (outcome === 'unknown' && !wasHeld)) {
        hold.lose(hold.remainingMs > 0 ? 'taken' : 'expired');
        return;
      }
      hold.end();
      this.forget(hold);
      if (outcome === 'kept') gate?.rests();
      this.tell('released', hold, { heldMs: hold.heldMs, outcome });
    };
    const givenUp = runOutsideScopes(() => giveUp(this.parts, lease, hold.minHoldMs, successor, over));
    return givenUp.then((outcome) => (hold.isLost ? 'lost' : outcome));
  }

  /** The hold is over in this process: the next caller may go to the store. */
  private forget(hold: Hold): void {
    const { gate } = hold;
    if (!gate) return;
    this.takeOut(hold);
    gate.freed(hold.lease);
    if (this.holds.size === 0) this.whenEmpty?.();
  }

  private takeOut(hold: Hold): void {
    hold.link?.remove();
    hold.gate = undefined;
  }

  private tell<Name extends 'acquired' | 'released' | 'lost' | 'renewalFailed' | 'heldLong'>(
    name: Name,
    { key, token }: Hold,
    more: Omit<LockEvents[Name][0], 'key' | 'template' | 'fencingToken'>,
  ): void {
    const { events } = this.parts;
    if (events.listenerCount(name) === 0) return;
    events.tell(name, { key: key.text, template: key.template, fencingToken: token, ...more } as LockEvents[Name][0]);
  }
}

function notDowngraded(key: string, why: string): LockArgumentError {
  return new LockArgumentError(`Lock "${key}" cannot be downgraded: ${why}.`, key);
}
