import type { Link } from './chain.js';
import type { Contender } from './contender.js';
import type { Deadlines } from './deadlines.js';
import type { Lease } from './lease.js';
import type { LocalGate, Waiter } from './local-gate.js';
import type { LockHandle } from './lock-handle.js';
import type { LockKey } from './lock-key.js';
import type { LockSettings } from './lock-settings.js';
import type { LockError } from './lock.errors.js';
import { Patience, type PatienceListener } from './patience.js';

/** Where callers come from. */
export interface CallerOwner {
  /** It has the lock; what it gets for that. */
  entered(caller: Caller, gate: LocalGate, lease: Lease, fencingToken: number): LockHandle;
  /** It has what it wants, or has gone with an error. */
  dismiss(caller: Caller, error?: LockError): void;
  /** What it is told at its deadline. */
  deadlineError(caller: Caller, gate: LocalGate, waitedMs: number): LockError;
}

/** One caller that wants a lock. */
export class Caller implements Waiter, PatienceListener {
  readonly patience: Patience;
  /** Among all callers of its client. */
  enrolment: Link<Caller> | undefined;
  place: Link<Waiter> | undefined;
  contender: Contender | undefined;
  private gate: LocalGate | undefined;
  private resolve!: (handle: LockHandle) => void;
  private reject!: (error: LockError) => void;

  constructor(
    private readonly owner: CallerOwner,
    readonly key: LockKey,
    readonly settings: LockSettings,
    /** It runs inside of a lock of this client already, so that a shutdown lets it finish. */
    readonly nested: boolean,
    deadlines: Deadlines,
  ) {
    // One attempt has the time limit of its command.
    this.patience = new Patience(key.text, settings.waitMs || Infinity, settings.signal, deadlines);
  }

  /** Queues at a gate; rejects with a LockError. */
  waitAt(gate: LocalGate): Promise<LockHandle> {
    return new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
      this.gate = gate;
      this.patience.listener = this;
      gate.join(this);
    });
  }

  enter(lease: Lease, fencingToken: number): void {
    const handle = this.owner.entered(this, this.gate as LocalGate, lease, fencingToken);
    this.owner.dismiss(this);
    this.resolve(handle);
  }

  fail(error: LockError): void {
    this.owner.dismiss(this, error);
    this.reject(error);
  }

  over(error: LockError): void {
    this.gate?.leave(this);
    this.fail(error);
  }

  late(waitedMs: number): LockError {
    return this.owner.deadlineError(this, this.gate as LocalGate, waitedMs);
  }
}
