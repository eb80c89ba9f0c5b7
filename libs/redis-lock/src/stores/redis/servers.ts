import type { Redis } from 'ioredis';
import type { RedisConnection } from './redis-connection.js';
import type { Script } from './script.js';

/** What the scripts of a store run on: one Redis, or the node of a Cluster that has the slot of the lock. */
export interface Servers {
  /** How often a connection for commands has broken. */
  readonly generation: number;

  /** Where the commands of a lock go now; undefined as long as that is not known. */
  nodeOf(lock: string): RedisConnection | undefined;

  /** The counter of the fencing tokens of a lock. */
  fenceOf(prefix: string, lock: string): string;

  /**
   * Waits until the commands of a lock can be sent.
   * @throws LockUnavailableError after `withinMs`.
   */
  untilReady(name: string, withinMs: number, lock: string): Promise<void>;

  /** See {@link RedisConnection.run}. The first of the keys is the lock. */
  run<Args extends readonly unknown[], Reply>(
    script: Script<Args, Reply>,
    name: string,
    keys: readonly [lock: string, ...others: string[]],
    args: Args,
    stillWanted?: () => boolean,
  ): Promise<Reply>;

  /**
   * Asks whether messages may be published to a channel, by an empty one.
   * @throws the answer of the server.
   */
  askPermissionToPublish(channel: string): Promise<void>;

  /** A connection for subscriptions; undefined as long as no server is known. It ends where another server may do. */
  openInbox(): Redis | undefined;

  close(): Promise<void>;
}
