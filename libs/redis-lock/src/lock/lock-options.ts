import type { Duration } from './duration.js';

/** What one acquisition may ask for. Durations are milliseconds, or texts such as `'10s'`. */
export interface LockOptions {
  /**
   * The lease: how long Redis keeps the lock when nobody renews it. It is the time that a crash costs, **not** the time
   * that the work may take. Longer: a crash blocks the key longer. Shorter: a pause of the process or of Redis loses
   * the lock sooner.
   * @default '30s'
   */
  ttl?: Duration;
  /**
   * How long the caller queues. `0` is one attempt; `Infinity` must be asked for.
   * @default '5s', and 0 for `tryAcquire`, `tryRun` and `@CronLocked`
   */
  wait?: Duration;
  /** Ends the waiting; the caller gets LockAbortedError. It does not end work that has begun. */
  signal?: AbortSignal;
  /**
   * Whether the watchdog extends the lease, every third of it, while the work runs. `false` is a fixed lease: the lock
   * is lost when it ends.
   * @default true
   */
  renew?: boolean;
  /**
   * The lock stays at least this long after its acquisition, by the clock of Redis, also when the work was quicker.
   * ShedLock's lockAtLeastFor.
   * @default 0
   */
  minHold?: Duration;
  /**
   * The lock is held at most this long: then it is given back, its signal aborts and it counts as lost, whether the
   * work has ended or not.
   * @default none, with one `heldLong` event and a warning after a minute
   */
  maxHold?: Duration;
  /**
   * How many callers of this process may wait for one key; the next one gets LockBusyError at once.
   * @default none
   */
  maxWaiters?: number;
  /**
   * Whether callers get the lock strictly in the order in which they came, over all processes. It costs two commands
   * and a message a caller; without it a process passes the lock on among its own callers for up to 50 ms.
   * @default false
   */
  fair?: boolean;
  /**
   * Whether a call inside a scope that holds the key enters it. `false`: a nested call waits like anybody else.
   * @default true
   */
  reentrant?: boolean;
  /**
   * Waits, before the work starts, until replicas have the lock too, which makes its loss in a failover rarer and not
   * impossible: the replica that takes over may be another one. Renewals do not wait, nor does a call that enters a lock
   * which it is inside of. Too few in time: the lock is
   * given back, and the caller gets LockUnavailableError. `false` undoes the default of the client. Stores other than
   * Redis have no replicas to wait for.
   * @default false
   */
  replicas?: ReplicaOptions | false;
  /**
   * What `run` does when its body returned but the lock was lost meanwhile: throw LockLostError, which carries the
   * result, or return it after the `lost` event.
   * @default 'throw'
   */
  onLost?: 'throw' | 'warn';
  /**
   * Makes it a semaphore: so many permits there are, 1 to 1,000,000, and so many callers that take one each may be inside
   * at a time. Callers are served in the order in which they come. A function is asked again and again while the caller
   * waits, so that the number may change meanwhile.
   */
  permits?: number | (() => number);
  /**
   * How many permits of a semaphore this one takes.
   * @default 1
   */
  take?: number;
  /**
   * Makes it a read/write lock: readers are inside together, a writer is alone. Callers are served in the order in which
   * they come, so that a writer that waits keeps new readers out.
   */
  mode?: 'read' | 'write';
}

/** How many replicas must acknowledge a lock. */
export interface ReplicaOptions {
  /** So many, or as many as make a majority together with the master, of the most that this client has seen connected. */
  ack: number | 'quorum';
  /**
   * How long to wait for them.
   * @default '100ms'
   */
  timeout?: Duration;
}

/** The options of a client: what it works on, and the defaults of its locks. */
export interface LockDefaults extends Omit<LockOptions, 'signal' | 'permits' | 'take' | 'mode'> {
  /**
   * Separates the locks of this application from others in the same Redis. Letters, digits and `_ . : -`.
   * @default 'lock'
   */
  prefix?: string;
  /**
   * `false` lets everything through without a lock: for tools and tests that run alone.
   * @default true
   */
  enabled?: boolean;
  /**
   * How long one command may take before Redis counts as unreachable. It bounds a release and an attempt with `wait:
   * 0`.
   * @default '1s'
   */
  commandTimeout?: Duration;
  /**
   * With `nodes`: how long one node may take for its answer before it counts as unreachable. Shorter: a node that hangs
   * delays a lock less, where too many others hang as well. Longer: a slow network has more time. Far below `ttl`.
   * @default '50ms'
   */
  nodeTimeout?: Duration;
  /**
   * With `nodes`: whether fencing tokens grow with certainty, for which an acquisition sometimes asks the nodes twice.
   * `false` saves that; `fencingToken` throws then.
   * @default true
   */
  fencing?: boolean;
  /**
   * How callers come back whom Redis cannot tell that it is their turn, because pub/sub is forbidden or Redis is out of
   * reach: the first pause, doubled up to the longest one, with jitter.
   */
  backoff?: {
    /** @default '50ms' */
    initial?: Duration;
    /** @default '1s' */
    max?: Duration;
  };
  shutdown?: {
    /**
     * How long running bodies may go on when the application shuts down, before their locks are given back.
     * @default '10s'
     */
    drain?: Duration;
  };
}

/** Every default, once. Durations in ms. */
export const DEFAULTS = {
  prefix: 'lock',
  enabled: true,
  ttl: 30_000,
  wait: 5_000,
  renew: true,
  minHold: 0,
  maxHold: Infinity,
  maxWaiters: Infinity,
  fair: false,
  reentrant: true,
  onLost: 'throw',
  replicas: false,
  'replicas.timeout': 100,
  commandTimeout: 1_000,
  nodeTimeout: 50,
  fencing: true,
  backoff: { initial: 50, max: 1_000 },
  shutdown: { drain: 10_000 },
} as const;

/** A held lock without `maxHold` is reported once it has been held this long. */
export const LONG_HOLD_MS = 60_000;
