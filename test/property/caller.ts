import {
  LockAbortedError,
  LockBusyError,
  LockLostError,
  LockShutdownError,
  LockTimeoutError,
  LockUnavailableError,
  type LockHandle,
  type LockOptions,
} from 'nestjs-redis-lock';
import type { Holding, Ledger } from './ledger.js';
import type { Station } from './world.js';

/** Of a caller that waits until it gets the lock. */
export const LONG_WAIT_MS = 30_000;

export interface CallerOptions {
  readonly ttl: number;
  readonly wait: number;
  readonly fair: boolean;
  readonly renew: boolean;
  readonly minHold: number;
  readonly maxWaiters: number | undefined;
  /** How long it works, in ms; undefined: until it is told to release. */
  readonly work: number | undefined;
}

/** One call for a lock, and what became of it. */
export class Caller {
  state: 'waiting' | 'obtained' | 'refused' = 'waiting';
  readonly since = performance.now();
  readonly beganAt: number;
  /** When the store had told it that it waits in the queue and that its inbox is open. */
  queuedAt: number | undefined;
  abortedAt: number | undefined;
  closedAt: number | undefined;
  isOverdue = false;
  private readonly abortion = new AbortController();

  constructor(
    private readonly ledger: Ledger,
    readonly name: string,
    readonly station: Station,
    readonly key: string,
    readonly options: CallerOptions,
    /** A nested call: what it runs in. */
    readonly around?: Holding,
  ) {
    this.beganAt = ledger.tick();
    ledger.callers.push(this);
  }

  /** Calls; returns at once. */
  start(attempt: 'acquire' | 'tryAcquire'): void {
    const { link, client } = this.station;
    this.ledger.note(`${this.name} calls for ${this.key}`);
    link.lastAcquire = undefined;
    const { work, maxWaiters, ...options } = this.options;
    const given: LockOptions = {
      ...options,
      signal: this.abortion.signal,
      ...(maxWaiters !== undefined && { maxWaiters }),
    };
    const call = (): Promise<LockHandle | null> => client[attempt](this.key, given);
    const called = this.around ? this.around.handle.run(call) : call();
    // A fair caller goes to the store by itself, at once.
    const asked = link.lastAcquire as Station['link']['lastAcquire'];
    if (this.options.fair) {
      asked?.then(
        (reply) => {
          if (reply.status === 'held' && reply.place?.listening) this.queuedAt = this.ledger.tick();
        },
        () => undefined,
      );
    }
    called.then(
      (handle) => (handle ? this.obtained(handle) : this.refused('null')),
      (error: unknown) => this.refused(error),
    );
  }

  abort(): void {
    this.ledger.note(`${this.name} is aborted`);
    this.abortedAt ??= performance.now();
    this.abortion.abort();
  }

  /** Whether it waits at a better place than another fair caller. */
  isBefore({ station, beganAt }: Caller, mayBeReordered: boolean): boolean {
    if (!this.options.fair || this.queuedAt === undefined) return false;
    const isInOrder = station === this.station && !mayBeReordered;
    return (isInOrder ? this.beganAt : this.queuedAt) < beganAt;
  }

  private obtained(handle: LockHandle): void {
    this.state = 'obtained';
    const holding = this.ledger.obtained(this, handle);
    const { work } = this.options;
    if (work !== undefined) setTimeout(() => void release(this.ledger, holding), work);
  }

  private refused(error: unknown): void {
    this.state = 'refused';
    this.ledger.refused(this, error);
  }
}

/** Releases a holding, unless that has been done. */
export async function release(ledger: Ledger, holding: Holding): Promise<void> {
  if (!ledger.holdings.delete(holding)) return;
  ledger.note(`${holding.caller.name} releases`);
  const since = { tick: ledger.tick(), at: performance.now() };
  const outcome = await holding.handle.release();
  ledger.released(holding, outcome, since);
}

/** Whether a caller may be refused with this. */
export function wasToBeExpected(caller: Caller, error: unknown): boolean {
  const { options, abortedAt, closedAt, around } = caller;
  const isOneAttempt = options.wait === 0 || options.maxWaiters === 0;
  if (error === 'null') return true;
  if (error instanceof LockBusyError) return isOneAttempt || options.maxWaiters !== undefined;
  if (error instanceof LockTimeoutError) {
    return options.wait < LONG_WAIT_MS && performance.now() - caller.since >= options.wait - 5;
  }
  if (error instanceof LockAbortedError) return abortedAt !== undefined;
  if (error instanceof LockShutdownError) return closedAt !== undefined;
  if (error instanceof LockLostError) return around !== undefined && around.handle.lost !== undefined;
  // Whoever has time and a place goes on asking.
  const isPatient = options.wait === LONG_WAIT_MS && options.maxWaiters === undefined && around === undefined;
  return error instanceof LockUnavailableError && !isPatient;
}
