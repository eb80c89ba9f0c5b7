/**
 * Where locks live. A store knows keys, members, tokens and leases; it knows no callers, no timers of the client and no
 * contexts. Prove one of your own with `storeContract` of `nestjs-redis-lock/testing`.
 *
 * A *member* is the id of one acquisition, made by the client and never used twice. Every method rejects with
 * LockUnavailableError when the store cannot be asked, and the command may then have run all the same.
 */
export interface LockStore {
  /**
   * Tries to make `member` the owner, once. Repeated by the owner itself it gives the same token again, so that a
   * command whose answer was lost can be sent again.
   */
  acquire(command: AcquireCommand): Promise<AcquireReply>;

  /**
   * Ends what `member` has of the key: the lock if it owns it, and anything that waits in its name. Another's lock is
   * never touched.
   */
  release(command: ReleaseCommand): Promise<ReleaseReply>;

  /** Extends leases that are still owned; it never shortens one and never revives one. One promise for each command. */
  renew(commands: readonly RenewCommand[]): Promise<RenewReply>[];

  /** Who holds a key now. */
  inspect(key: string): Promise<LockState>;

  /** Closes what the store opened itself. */
  close(): Promise<void>;
}

export interface AcquireCommand {
  readonly key: string;
  readonly member: string;
  /** The lease, in ms. */
  readonly leaseMs: number;
  /** From now, in ms: how late the store may still carry this out. Later it must refuse. */
  readonly withinMs: number;
  /**
   * Asked right before the command is carried out or sent, each time; false: nobody wants it any more, and the store
   * rejects without having done anything. Absent: it is wanted.
   */
  readonly stillWanted?: () => boolean;
}

export type AcquireReply = AcquiredReply | HeldReply;

export interface AcquiredReply {
  readonly status: 'acquired';
  /** The fencing token; larger than every earlier one of this key, and kept when the acquire is repeated. */
  readonly token: number;
  /** What is left of the lease when the store answered, in ms. */
  readonly remainingMs: number;
}

export interface HeldReply {
  readonly status: 'held';
  readonly holder: string;
  /** The holder's token; 0 when the key rests and nobody works under it. */
  readonly token: number;
  /** When the holder acquired it, in ms since the epoch by the store's clock. */
  readonly heldSince: number | undefined;
  readonly remainingMs: number;
}

export interface ReleaseCommand {
  readonly key: string;
  readonly member: string;
  /** Undefined: whatever the member has, for giving back an acquisition whose answer is unknown. */
  readonly token?: number;
  /** The key stays closed until this long after its acquisition, in ms by the store's clock. 0: free at once. */
  readonly minHoldMs: number;
}

/** `kept`: the holder is gone, the key rests until `minHold` is over. `lost`: the member did not own it. */
export type ReleaseReply = 'released' | 'kept' | 'lost';

export interface RenewCommand {
  readonly key: string;
  readonly member: string;
  readonly token: number;
  readonly leaseMs: number;
}

/** `remainingMs` is the lease from the moment the store answered; `gone`: the member does not own the key any more. */
export type RenewReply = { readonly status: 'renewed'; readonly remainingMs: number } | { readonly status: 'gone' };

export type LockState = { readonly status: 'free' } | HeldReply;
