/**
 * Where locks live. A store knows keys, members, tokens, leases and who waits; it knows no callers, no timers of the
 * client and no contexts. Prove one of your own with `storeContract` of `nestjs-redis-lock/testing`.
 *
 * A *member* is the id of one acquisition, `<instance>#<n>`, made by the client, without white space and never used
 * twice; the instance is the client's. Every method rejects with LockUnavailableError when the store cannot be asked,
 * and the command may then have run all the same.
 */
export interface LockStore {
  /**
   * Tries to make `member` the owner, and queues it where `queue` is given and somebody else is first. Repeated by the
   * owner itself it gives the same token again, so that a command whose answer was lost can be sent again. A free key
   * for which others are queued is granted to the first of them that can be told.
   */
  acquire(command: AcquireCommand): Promise<AcquireReply>;

  /**
   * Ends what `member` has of the key, and grants it to the next one in the queue. Another's lock is never touched.
   * Without a token it is *leave*: what the member owns is freed, and it waits no more.
   */
  release(command: ReleaseCommand): Promise<ReleaseReply>;

  /**
   * Extends leases that are still owned; it never shortens one and never revives one. The first one confirms a grant.
   * One promise for each command.
   */
  renew(commands: readonly RenewCommand[]): Promise<RenewReply>[];

  /** Who holds a key now. Of a lock with shares: the holder that ends first. */
  inspect(key: string): Promise<LockState>;

  /** All who hold a lock with shares. Absent where the store has no shares. */
  holders?(key: string): Promise<Holders>;

  /**
   * Leaves a holder with one of its permits, and grants the others. Repeated it changes nothing; under its new or its
   * old share it can be renewed and released. False: it is no holder. Absent where the store has no shares.
   */
  reduce?(command: ReduceCommand): Promise<boolean>;

  /** The inbox of a client: what is granted to members of that instance is told to the listener. Closed at first. */
  grants(instance: string, listener: GrantListener): GrantInbox;

  /** What this store cannot do; asking for it is an error. Absent: nothing. */
  readonly lacks?: readonly LockFeature[];

  /** Closes what the store opened itself. */
  close(): Promise<void>;
}

/**
 * `fair`: callers in the strict order of their arrival; `fencing`: tokens that grow with certainty; `replicas`: locks
 * that wait until replicas have them; `shares`: locks that several members hold together.
 */
export type LockFeature = 'fair' | 'fencing' | 'replicas' | 'shares';

/**
 * A part of a lock that several members hold together, as long as there are permits left. Nobody passes by a member that
 * waits, however many permits that wants; a member that takes all of them is alone. A lock has shares or it has not: what
 * both kinds ask for under one key at a time is refused.
 */
export interface Share {
  /** How many permits the member takes. */
  readonly permits: number;
  /** How many there are, as this member sees it: it gets its own when that many are enough for it and all holders. */
  readonly limit: number;
}

/** How many numbers after each token belong to it: the client gives them out when it hands the lock over itself. */
export const RESERVED_TOKENS = 16;

/** A grant that was told and is not renewed within this long is void, in ms. */
export const GRANT_CONFIRM_MS = 3_000;

/** The lease of a grant until it is confirmed, in ms. */
export const GRANT_LEASE_MS = 8_000;

/** Who waits asks again after this long at the latest, in ms; a queue that nobody asked for five times as long is gone. */
export const POLL_CAP_MS = 1_500;

export interface AcquireCommand {
  readonly key: string;
  readonly member: string;
  /** The lease, in ms. */
  readonly leaseMs: number;
  /** Absent: the whole lock, for one owner. */
  readonly share?: Share | undefined;
  /** From now, in ms: how late the store may still carry this out. Later it must refuse. */
  readonly withinMs: number;
  /** The member waits if it is not its turn. Absent: one attempt, which leaves nothing behind. */
  readonly queue?: QueueRequest | undefined;
  /**
   * Asked right before the command is carried out or sent, each time; false: nobody wants it any more, and the store
   * rejects without having done anything. Absent: it is wanted.
   */
  readonly stillWanted?: (() => boolean) | undefined;
}

export interface QueueRequest {
  /** The place that an earlier answer gave: who lost it gets it back. */
  readonly arrival?: number | undefined;
  /** The store cannot see whether the inbox of this member is open, and must not pass it over for that. */
  readonly uncountable?: boolean | undefined;
}

export type AcquireReply = AcquiredReply | HeldReply;

export interface AcquiredReply {
  readonly status: 'acquired';
  /**
   * The fencing token; larger than every earlier one of this key and the numbers reserved for it, and kept when the
   * acquire is repeated.
   */
  readonly token: number;
  /** What is left of the lease when the store answered, in ms; of a grant that is not confirmed, until it is void. */
  readonly remainingMs: number;
  /** It is a grant of which the member was told before, and which it has not confirmed. */
  readonly granted?: boolean;
  /** On how many servers the lock is, as far as is known when this is looked at; absent: one. */
  readonly nodes?: number;
}

export interface HeldReply {
  readonly status: 'held';
  readonly holder: string;
  /**
   * The holder's token; 0 when the key rests and nobody works under it. With shares the highest number that was given
   * out so far.
   */
  readonly token: number;
  /** When the holder acquired it, in ms since the epoch by the store's clock. */
  readonly heldSince: number | undefined;
  readonly remainingMs: number;
  /** How many members are queued. */
  readonly queued: number;
  /** Where the member waits now; absent when it does not. */
  readonly place?: QueuePlace;
}

export interface QueuePlace {
  /** Its arrival number; smaller ones come first. */
  readonly arrival: number;
  /** It had this place before and was no longer in the queue. */
  readonly rejoined: boolean;
  /** Whether the store sees the inbox of the member; undefined when it cannot say. */
  readonly listening: boolean | undefined;
}

export interface ReleaseCommand {
  readonly key: string;
  readonly member: string;
  /** Undefined: whatever the member has, its place in the queue included. */
  readonly token?: number;
  /** As it was acquired. */
  readonly share?: Share | undefined;
  /** The key stays closed until this long after its acquisition, in ms by the store's clock. 0: free at once. */
  readonly minHoldMs: number;
  /** Queued in the same step, unless the lock was lost. First in the queue, it owns the lock with the answer. Not with shares. */
  readonly successor?: Successor | undefined;
}

export interface Successor extends QueueRequest {
  readonly member: string;
  readonly leaseMs: number;
}

export interface ReleaseReply {
  /** `kept`: the holder is gone, the key rests until `minHold` is over. `lost`: the member did not own it. */
  readonly status: 'released' | 'kept' | 'lost';
  /** What the successor would have been answered to an acquire; absent after `lost`, when it was not queued. */
  readonly successor?: AcquireReply;
}

export interface RenewCommand {
  readonly key: string;
  readonly member: string;
  readonly token: number;
  readonly leaseMs: number;
  /** As it was acquired. */
  readonly share?: Share | undefined;
  /**
   * The store waits until so many replicas have the lock. If they do not in time, it gives the lock back and rejects with
   * a LockUnavailableError that has `acknowledged`. A store without replicas has nothing to wait for.
   */
  readonly replicas?: ReplicaDemand | undefined;
}

/** How many replicas must have a lock, and within how many ms; `quorum`: a majority, the master counted. */
export interface ReplicaDemand {
  readonly ack: number | 'quorum';
  readonly timeoutMs: number;
}

export interface ReduceCommand {
  readonly key: string;
  readonly member: string;
  readonly token: number;
  /** As it was acquired. */
  readonly share: Share;
}

/** Who holds a lock with shares. */
export interface Holders {
  readonly holders: readonly ShareHolder[];
  /** How many permits they have together, those that rest until a `minHold` is over counted. */
  readonly permits: number;
  /** How many members are queued. */
  readonly queued: number;
}

export interface ShareHolder {
  readonly holder: string;
  readonly token: number;
  readonly permits: number;
  /** When it acquired them, in ms since the epoch by the store's clock. */
  readonly heldSince: number;
  readonly remainingMs: number;
}

/** `remainingMs` is the lease from the moment the store answered; `gone`: the member does not own the key any more. */
export type RenewReply =
  | {
      readonly status: 'renewed';
      readonly remainingMs: number;
      /** As in {@link AcquiredReply}. */
      readonly nodes?: number;
    }
  | { readonly status: 'gone' };

export type LockState = { readonly status: 'free' } | HeldReply;

/** A member of the instance owns the key since a moment ago. */
export interface Grant {
  readonly key: string;
  readonly member: string;
  readonly token: number;
  /** Of a lock with shares: what was granted. */
  readonly share?: Share | undefined;
}

export interface GrantListener {
  granted(grant: Grant): void;
  /** A key that the member waits for may be free: it has to ask. Of inboxes that wake. */
  freed?(hint: Pick<Grant, 'key' | 'member'>): void;
  /** The inbox is open, maybe again. What was told before may not have arrived. */
  opened(): void;
  /** It cannot be opened: nobody is told of anything, and who waits must come back by itself. */
  refused(): void;
}

export interface GrantInbox {
  /** False once it is known that it cannot be opened; then nobody queues in the store. */
  readonly usable: boolean;
  /**
   * It grants nothing, but tells members when to ask: an acquire with `queue` is remembered although it gets no place.
   * Who waits comes back by itself as well. Absent: no.
   */
  readonly wakes?: boolean;
  /** Changes with every connection to the store: what was sent before says nothing about what is told after. */
  readonly generation: number;
  /** Opens it, or makes sure that it is open. */
  open(): void;
  close(): Promise<void>;
}

/** The inbox of a store that cannot tell anybody anything: its clients come back by themselves. */
export const NO_INBOX: GrantInbox = {
  usable: false,
  generation: 0,
  open: () => undefined,
  close: async () => undefined,
};
