const BRAND = Symbol.for('nestjs-redis-lock/LockError');

/** Stable names of the error kinds: safe to switch on, to log and to count. */
export type LockErrorCode =
  'LOCK_BUSY' | 'LOCK_TIMEOUT' | 'LOCK_ABORTED' | 'LOCK_SHUTDOWN' | 'LOCK_UNAVAILABLE' | 'LOCK_LOST' | 'LOCK_ARGUMENT';

/** Who holds a key, as far as the last answer of the store told. */
export interface LockHolder {
  /** `<hostname>-<pid>-<random>#<n>` of the acquisition that holds the key, or `minHold` while a finished one rests. */
  readonly holder: string;
  /** When it was acquired, in ms since the epoch by the clock of the store; undefined when unknown. */
  readonly heldSince: number | undefined;
  /** How long its lease runs if it is not renewed, in ms. */
  readonly remainingMs: number;
}

/** The base of every error that this library throws. Tell them apart with `instanceof` or {@link LockError.code}. */
export abstract class LockError extends Error {
  abstract readonly code: LockErrorCode;
  /** The status that the HTTP interceptor answers with. */
  abstract readonly statusCode: number;

  constructor(
    message: string,
    /** The key that was asked for, as the user named it. */
    readonly key: string,
    options?: { cause?: unknown },
  ) {
    super(message, options);
    this.name = new.target.name;
    Object.defineProperty(this, BRAND, { value: true });
  }
}

/** Tells whether a value is a {@link LockError}, also one of another copy of this library in the same process. */
export function isLockError(value: unknown): value is LockError {
  return typeof value === 'object' && value !== null && BRAND in value;
}

/** The key is held and the caller did not want to wait (`wait: 0`), or `maxWaiters` callers already do. */
export class LockBusyError extends LockError {
  readonly code = 'LOCK_BUSY';
  readonly statusCode = 429;

  constructor(
    key: string,
    reason: string,
    /** Who holds the key; undefined when the callers that queue are the reason. */
    readonly holder: LockHolder | undefined,
  ) {
    super(`Lock "${key}" is busy: ${reason}${describeHolder(holder)}.`, key);
  }
}

/** The key was not obtained within `wait`. */
export class LockTimeoutError extends LockError {
  readonly code = 'LOCK_TIMEOUT';
  readonly statusCode = 429;

  constructor(
    key: string,
    /** How long this caller waited, in ms. */
    readonly waitedMs: number,
    /** Who holds the key. */
    readonly holder: LockHolder | undefined,
    /** How many callers wait for the key as far as this process knows, this one included. */
    readonly waiting: number,
  ) {
    super(
      `Lock "${key}" was not obtained within ${Math.round(waitedMs)} ms${describeHolder(holder)}; ` +
        `${waiting} ${waiting === 1 ? 'caller waits' : 'callers wait'} for it. ` +
        'Raise "wait", shorten the work under the lock, or make the key narrower.',
      key,
    );
  }
}

/** The caller's AbortSignal fired while it waited; `cause` is the signal's reason. */
export class LockAbortedError extends LockError {
  readonly code = 'LOCK_ABORTED';
  /** Nobody listens any more; the number is what proxies log for a client that closed its request. */
  readonly statusCode = 499;

  constructor(key: string, reason: unknown) {
    super(`Waiting for lock "${key}" was aborted by the caller's signal.`, key, { cause: reason });
  }
}

/** The application is shutting down and gives out no new locks. */
export class LockShutdownError extends LockError {
  readonly code = 'LOCK_SHUTDOWN';
  readonly statusCode = 503;

  constructor(key: string) {
    super(
      `Lock "${key}" was refused: this process is shutting down and takes no new locks. Retry on another node.`,
      key,
    );
  }
}

/** Redis could not be asked, or did not answer in time. It says nothing about who holds the key. */
export class LockUnavailableError extends LockError {
  readonly code = 'LOCK_UNAVAILABLE';
  readonly statusCode = 503;
  /** Whether the same command may work a little later; a refused permission will not. */
  readonly retryable: boolean;
  /** Whether the command may have been carried out all the same. */
  readonly mayHaveRun: boolean;
  /** Whether the store is there, but got the command too late to carry it out. */
  readonly late: boolean;
  /** How many replicas acknowledged the lock, where those were too few; then it was given back. */
  readonly acknowledged: number | undefined;

  constructor(
    key: string,
    /** What went wrong, without the key. */
    readonly what: string,
    options: { cause?: unknown; retryable?: boolean; mayHaveRun?: boolean; late?: boolean; acknowledged?: number } = {},
  ) {
    super(`Lock "${key}": ${what}.`, key, options);
    this.retryable = options.retryable ?? true;
    this.mayHaveRun = options.mayHaveRun ?? true;
    this.late = options.late ?? false;
    this.acknowledged = options.acknowledged;
  }
}

/** What a store rejects an acquire with that nobody wants any more. */
export function notWanted(key: string): LockUnavailableError {
  return new LockUnavailableError(key, 'nobody waits for it any more', { mayHaveRun: false });
}

/** A semaphore or read/write lock was asked for under the key of a plain lock that is held, or the other way round. */
export const OTHER_KIND =
  'a lock of another kind (plain, semaphore or read/write) or something else is stored under its name; choose another ' +
  'key or "prefix"';

/** What a store without types of its own rejects {@link OTHER_KIND} with. */
export function otherKind(key: string): LockUnavailableError {
  return new LockUnavailableError(key, OTHER_KIND, { mayHaveRun: false, retryable: false });
}

/** Why a lock is no longer ours. */
export type LockLossReason =
  /** The lease ended before it was renewed: Redis was out of reach, or the process was stopped. */
  | 'expired'
  /** The key was deleted, or somebody else owns it. */
  | 'taken'
  /** `maxHold` is over; the lock was given back while the work still ran. */
  | 'maxHold'
  /** The drain of a shutdown is over; the lock was given back while the work still ran. */
  | 'shutdown';

const LOSS: Record<LockLossReason, string> = {
  expired: 'its lease ended before it could be renewed',
  taken: 'Redis no longer has it under this owner',
  maxHold: 'it was held for "maxHold" and was given back while the work still ran',
  shutdown: 'the drain of the shutdown ended and it was given back while the work still ran',
};

/** The lock ended before its holder released it: somebody else may have worked at the same time. */
export class LockLostError extends LockError {
  readonly code = 'LOCK_LOST';
  readonly statusCode = 500;
  /** What the body returned although its lock was lost; undefined when it has not returned. */
  readonly result: unknown;

  constructor(
    key: string,
    readonly reason: LockLossReason,
    readonly fencingToken: number,
    options: { cause?: unknown; result?: unknown } = {},
  ) {
    super(
      `Lock "${key}" (fencing token ${fencingToken}) was lost: ${LOSS[reason]}. ` +
        'What was written under it must be checked or rejected by its fencing token.',
      key,
      options,
    );
    this.result = options.result;
  }
}

/** A key, an option or a template is wrong. Thrown before anything is sent. */
export class LockArgumentError extends LockError {
  readonly code = 'LOCK_ARGUMENT';
  readonly statusCode: number;
  /** The part of the request that the wrong value came from; then the answer is 400 instead of 500. */
  readonly fromRequest: string | undefined;

  constructor(message: string, key: string, options: { cause?: unknown; fromRequest?: string } = {}) {
    super(message, key, options);
    this.fromRequest = options.fromRequest;
    this.statusCode = options.fromRequest === undefined ? 500 : 400;
  }
}

function describeHolder(holder: LockHolder | undefined): string {
  if (!holder) return '';
  const since = holder.heldSince === undefined ? '' : ` since ${new Date(holder.heldSince).toISOString()}`;
  return `, held by ${holder.holder}${since} with ${Math.max(0, Math.round(holder.remainingMs))} ms of its lease left`;
}
