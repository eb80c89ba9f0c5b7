import type { LockHandle } from 'nestjs-redis-lock';
import { LONG_WAIT_MS, wasToBeExpected, type Caller } from './caller.js';
import { KeyRecord } from './key-record.js';
import { COMMAND_TIMEOUT_MS, KEYS } from './world.js';

/** How late something may be on a busy machine, in ms. */
export const LATE_MS = 3_000;

/** A lock that a caller has, until it is released. */
export interface Holding {
  readonly caller: Caller;
  readonly handle: LockHandle;
  readonly token: number;
  /** Of a nested call: it entered a lock that was held. */
  readonly entered: boolean;
}

/** Writes down what callers and handles say, and finds out when that breaks a rule. */
export class Ledger {
  readonly callers: Caller[] = [];
  readonly holdings = new Set<Holding>();
  /** Something went wrong between a client and its store: the order of arrival is not certain from now on. */
  disturbed = false;
  /** Commands of one client may have overtaken each other, because the server did not know the script of the first. */
  reordered = false;
  /** Somebody meddled with the store, or it was disturbed: what was promised to be told may not be told. */
  meddled = false;
  /** A lease or a minHold ended by itself, of which nobody is told: whoever waits asks again after a while. */
  ended = false;
  private readonly keys = new Map<string, KeyRecord>();
  private readonly violations: string[] = [];
  private readonly lines: string[] = [];
  private readonly started = performance.now();
  private ticks = 0;

  /** Orders what happens. */
  tick(): number {
    return ++this.ticks;
  }

  note(line: string): void {
    this.lines.push(`${(performance.now() - this.started).toFixed(1).padStart(9)} ms  ${line}`);
  }

  violated(rule: string): void {
    this.note(`BROKEN: ${rule}`);
    this.violations.push(rule);
  }

  get waiting(): Caller[] {
    return this.callers.filter(({ state }) => state === 'waiting');
  }

  /** The administrator does something to a key, and learns the token of the lock that he takes away. */
  async meddle(key: string, deed: () => Promise<number | undefined | void>): Promise<void> {
    this.meddled = true;
    const record = this.key(key);
    record.meddledAt = this.tick();
    record.meddling++;
    record.rest = undefined;
    const token = await deed();
    record.meddling--;
    record.meddledAt = this.tick();
    if (token !== undefined) record.doom(token);
    for (const rule of record.broken()) this.violated(rule);
  }

  obtained(caller: Caller, handle: LockHandle): Holding {
    const { key } = caller;
    const token = handle.fencingToken;
    const entered = caller.around?.token === token;
    const holding = { caller, handle, token, entered };
    this.note(`${caller.name} obtained ${key}, token ${token}${entered ? ', entered' : ''}`);
    if (!entered) this.checkObtained(holding);
    this.holdings.add(holding);
    this.checkExclusion();
    return holding;
  }

  refused(caller: Caller, error: unknown): void {
    const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
    this.note(`${caller.name} refused: ${text}`);
    if (!wasToBeExpected(caller, error)) this.violated(`${caller.name} must not be refused with ${text}`);
  }

  released({ caller, token }: Holding, outcome: string, since: { readonly tick: number; readonly at: number }): void {
    const ms = performance.now() - since.at;
    this.note(`${caller.name} released: ${outcome}`);
    if (outcome !== 'released') this.ended = true;
    if (ms > COMMAND_TIMEOUT_MS + LATE_MS) this.violated(`the release of ${caller.name} took ${Math.round(ms)} ms`);
    const record = this.key(caller.key);
    const isMeddledWith = record.meddling > 0 || record.meddledAt > since.tick || record.isDoomed(token);
    if (outcome === 'kept' && !isMeddledWith) {
      record.rest = { token, until: Math.floor(token / 1000) + caller.options.minHold };
    }
  }

  /** @throws what was broken until now, with everything that happened. */
  check(): void {
    this.checkExclusion();
    this.checkOverdue();
    if (this.violations.length === 0) return;
    throw new Error(`${this.violations.join('\n')}\n\n${this.lines.slice(-120).join('\n')}`);
  }

  /** At most one holder of a key says that it is held. */
  private checkExclusion(): void {
    for (const key of new Set(KEYS)) {
      const holdings = [...this.holdings].filter(({ caller, handle }) => caller.key === key && handle.held);
      const holders = holdings.map(({ caller, token, entered, handle }) => {
        return { token, entered, text: `${caller.name} (${token}, ${handle.remaining} ms left)` };
      });
      this.suspect(key, (record) => {
        const sure = holders.filter(({ token }) => !record.isDoomed(token));
        const isShared =
          sure.filter(({ entered }) => !entered).length > 1 || new Set(sure.map(({ token }) => token)).size > 1;
        return isShared && `${key} has several holders: ${sure.map(({ text }) => text).join(', ')}`;
      });
    }
  }

  private checkObtained({ caller, token }: Holding): void {
    const { name, key, options } = caller;
    const { lastToken, rest, meddledAt } = this.key(key);
    this.key(key).lastToken = Math.max(lastToken, token);
    this.suspect(key, (record) => {
      return token <= lastToken && !record.isDoomed(token) && `${name} got token ${token}, not above ${lastToken}`;
    });
    // The clock of the store counts whole ms.
    if (rest && token > rest.token && token / 1000 < rest.until - 2) {
      this.violated(`${name} got ${key} ${rest.until - token / 1000} ms before minHold was over`);
    }
    if (this.disturbed || !(options.fair || options.wait === 0)) return;
    for (const other of this.waiting) {
      if (other.key === key && other.isBefore(caller, this.reordered) && meddledAt < other.beganAt) {
        this.violated(`${name} overtook ${other.name}`);
      }
    }
  }

  /** What looks broken may be excused by something that the administrator does at this moment. */
  private suspect(key: string, rule: (record: KeyRecord) => string | false): void {
    const record = this.key(key);
    const broken = rule(record);
    if (!broken) return;
    if (record.meddling > 0) record.suspicions.push(rule);
    else this.violated(broken);
  }

  /** Whoever may wait no longer has been told so. */
  private checkOverdue(): void {
    for (const caller of this.waiting) {
      const { options, abortedAt, since } = caller;
      const limit = options.wait === 0 ? COMMAND_TIMEOUT_MS : Math.min(options.wait, LONG_WAIT_MS);
      const late = performance.now() - Math.min(abortedAt ?? Infinity, caller.closedAt ?? Infinity, since + limit);
      if (late < LATE_MS || caller.isOverdue) continue;
      caller.isOverdue = true;
      this.violated(`${caller.name} still waits, ${Math.round(late)} ms too long`);
    }
  }

  private key(name: string): KeyRecord {
    const record = this.keys.get(name) ?? new KeyRecord();
    this.keys.set(name, record);
    return record;
  }
}
