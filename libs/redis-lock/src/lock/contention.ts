import type { LockStore } from '../stores/lock-store.js';
import { Attempts } from './attempts.js';
import { backoffDelay } from './backoff.js';
import { driftOf, elapsedSince, type Moment } from './clock.js';
import type { GiveBack } from './give-back.js';
import type { KeyQueue } from './key-queue.js';
import type { ClientSettings, LockSettings } from './lock-settings.js';
import { LockBusyError, LockUnavailableError } from './lock.errors.js';
import type { Patience } from './patience.js';
import { withTimeout } from './timeout.js';

/** A lock that the store gave. */
export interface Grant {
  readonly member: string;
  readonly token: number;
  /** When the command that set the lease was sent, and the lease. */
  readonly leaseFrom: Moment;
  readonly leaseMs: number;
}

export interface Contender {
  readonly key: string;
  readonly queue: KeyQueue;
  readonly settings: LockSettings;
  readonly patience: Patience;
  readonly newMember: () => string;
}

/** How long before a deadline the last attempt is made, in ms. */
const LAST_ATTEMPT_MS = 25;

/**
 * Gets a lock from the store: asks, and as long as somebody else holds the key comes back after a pause. Whatever an
 * attempt may have taken without our knowing is given back when the waiting ends without a lock.
 */
export class Contention {
  constructor(
    private readonly store: LockStore,
    private readonly settings: ClientSettings,
    private readonly giveBack: GiveBack,
  ) {}

  /** @throws LockError */
  async contend(contender: Contender): Promise<Grant> {
    const { key, queue, settings, patience } = contender;
    const attempts = new Attempts(this.giveBack, contender.newMember, { key, leaseMs: this.leaseOf(settings) });
    try {
      for (let attempt = 0; ; attempt++) {
        const grant = await this.ask(contender, attempts);
        if (grant) return grant;
        const { lastSeen } = queue;
        if (settings.waitMs === 0 || settings.maxWaiters === 0) {
          throw lastSeen instanceof LockUnavailableError
            ? lastSeen
            : new LockBusyError(key, 'somebody else holds it', lastSeen);
        }
        if (lastSeen instanceof LockUnavailableError && !lastSeen.retryable) throw lastSeen;
        queue.contending = true;
        await patience.sleep(this.pause(attempt, queue, patience));
      }
    } catch (error) {
      attempts.abandon();
      throw error;
    } finally {
      queue.contending = false;
    }
  }

  private leaseOf({ ttlMs, minHoldMs }: LockSettings): number {
    return Math.max(ttlMs, minHoldMs);
  }

  /** One attempt; undefined when it gave no lock, and then `lastSeen` of the queue says why. */
  private async ask(contender: Contender, attempts: Attempts): Promise<Grant | undefined> {
    const { key, queue, settings, patience } = contender;
    const leaseMs = this.leaseOf(settings);
    const timeoutMs = this.settings.commandTimeoutMs;
    const withinMs = Math.max(1, Math.min(timeoutMs, patience.remainingMs));
    const attempt = attempts.begin();
    queue.askedAt = attempt.sentAt;
    try {
      const { member, stillWanted } = attempt;
      const asked = this.store.acquire({ key, member, leaseMs, withinMs, stillWanted });
      attempts.follow(asked, attempt);
      // Where the patience ends first, it says how: a question that was cut short tells nothing about Redis.
      const reply = await patience.race(withTimeout(asked, timeoutMs, () => unanswered(key, timeoutMs)));
      if (reply.status === 'held') {
        queue.lastSeen = reply;
        return undefined;
      }
      const grant = { member, token: reply.token, leaseFrom: attempt.sentAt, leaseMs: reply.remainingMs };
      if (isUsable(grant)) return grant;
      queue.lastSeen = new LockUnavailableError(
        key,
        `its lease of ${leaseMs} ms was over before the answer arrived; raise "ttl"`,
      );
      attempts.renewMember();
    } catch (error) {
      patience.throwIfOver();
      if (!(error instanceof LockUnavailableError)) throw error;
      // A store that was only slow is there, and what it said before still stands.
      if (!error.late || !queue.lastSeen) queue.lastSeen = error;
    } finally {
      queue.askedAt = undefined;
    }
    return undefined;
  }

  private pause(attempt: number, { lastSeen }: KeyQueue, patience: Patience): number {
    let pause = backoffDelay(attempt, this.settings.backoff);
    if (lastSeen && !(lastSeen instanceof LockUnavailableError) && lastSeen.remainingMs >= 0) {
      pause = Math.min(pause, lastSeen.remainingMs + 1 + Math.random() * 10);
    }
    const left = patience.remainingMs;
    return pause >= left && left > 2 * LAST_ATTEMPT_MS ? left - LAST_ATTEMPT_MS : pause;
  }
}

function isUsable({ leaseFrom, leaseMs }: Grant): boolean {
  return leaseMs - driftOf(leaseMs) - elapsedSince(leaseFrom) > 0;
}

function unanswered(key: string, ms: number): LockUnavailableError {
  return new LockUnavailableError(key, `Redis did not answer within ${Math.round(ms)} ms`);
}
