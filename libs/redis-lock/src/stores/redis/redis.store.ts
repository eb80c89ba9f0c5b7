import type { LockLogger } from '../../lock/lock-events.js';
import { LockUnavailableError } from '../../lock/lock.errors.js';
import type {
  AcquireCommand,
  AcquireReply,
  GrantInbox,
  GrantListener,
  LockState,
  LockStore,
  QueueRequest,
  ReleaseCommand,
  ReleaseReply,
  RenewCommand,
  RenewReply,
} from '../lock-store.js';
import { RedisGrantInbox } from './grant-inbox.js';
import { fenceKey, inboxPrefix, physicalKey, queueKey } from './physical-key.js';
import { RedisConnection } from './redis-connection.js';
import type { RedisConnectionSource } from './redis-options.js';
import { acquiredReply, heldReply } from './replies.js';
import { acquireScript } from './scripts/acquire.js';
import { inspectScript } from './scripts/inspect.js';
import { releaseScript } from './scripts/release.js';
import { renewScript } from './scripts/renew.js';

export interface RedisLockStoreOptions {
  readonly connection: RedisConnectionSource;
  readonly prefix: string;
  readonly commandTimeoutMs: number;
  readonly logger: LockLogger;
}

/** Locks in one Redis: a hash a lock and a sorted set of who waits for it, changed by one script a command. */
export class RedisLockStore implements LockStore {
  private readonly connection: RedisConnection;
  private readonly inboxes: string;
  private readonly opened = new Set<GrantInbox>();

  /** @throws LockArgumentError when `connection` is none. */
  constructor(private readonly options: RedisLockStoreOptions) {
    const { connection, prefix, commandTimeoutMs, logger } = options;
    this.inboxes = inboxPrefix(prefix);
    const scripts = [acquireScript, releaseScript, renewScript, inspectScript];
    this.connection = new RedisConnection({ source: connection, commandTimeoutMs, logger, scripts });
  }

  async acquire({ key, member, leaseMs, withinMs, queue, stillWanted }: AcquireCommand): Promise<AcquireReply> {
    const { clock } = this.connection;
    const called = performance.now();
    if (!this.connection.isReady) await this.connection.untilReady(key, withinMs);
    const keys = this.keysOf(key);
    const place = queue ? placeOf(queue) : (['', ''] as const);
    // A command that was refused as late teaches the server's clock, and is sent once more with what is left of its time.
    for (let late = 0; late < 2; late++) {
      const left = withinMs - (performance.now() - called);
      if (left <= 0) break;
      const sent = performance.now();
      const limits = { withinMs: left, stillWanted };
      const args = [member, leaseMs, clock.in(left), ...place, this.inboxes] as const;
      const reply = await this.connection.run(acquireScript, key, keys, args, limits);
      if (reply[0] === 'acquired') return acquiredReply(reply[1], reply[2], reply[3]);
      if (reply[0] === 'held') return heldReply(reply);
      clock.learn(Number(reply[1]), sent);
    }
    const what = `Redis received the command later than ${Math.round(withinMs)} ms after it was sent`;
    throw new LockUnavailableError(key, what, { mayHaveRun: false, late: true });
  }

  async release({ key, member, token, minHoldMs, successor }: ReleaseCommand): Promise<ReleaseReply> {
    const next = successor
      ? ([successor.member, successor.leaseMs, ...placeOf(successor)] as const)
      : (['', 0, '', ''] as const);
    const held = token === undefined ? '' : String(token);
    const args = [member, held, minHoldMs, ...next, this.inboxes] as const;
    const [status, ...reply] = await this.connection.run(releaseScript, key, this.keysOf(key), args);
    if (reply[0] === 'acquired') return { status, successor: acquiredReply(reply[1], reply[2]) };
    if (reply[0] === 'held') return { status, successor: heldReply(reply) };
    return { status };
  }

  renew(commands: readonly RenewCommand[]): Promise<RenewReply>[] {
    return commands.map(async ({ key, member, token, leaseMs }): Promise<RenewReply> => {
      const lock = [physicalKey(this.options.prefix, key)];
      const remainingMs = await this.connection.run(renewScript, key, lock, [`${member}/${token}`, leaseMs]);
      return remainingMs < 0 ? { status: 'gone' } : { status: 'renewed', remainingMs };
    });
  }

  async inspect(key: string): Promise<LockState> {
    const [lock, queue] = this.keysOf(key);
    const holder = await this.connection.run(inspectScript, key, [lock, queue], []);
    return holder ? heldReply(holder) : { status: 'free' };
  }

  grants(instance: string, listener: GrantListener): GrantInbox {
    const { connection: source, prefix, commandTimeoutMs, logger } = this.options;
    const commands = this.connection;
    const inbox = new RedisGrantInbox({ source, prefix, instance, commandTimeoutMs, logger, commands, listener });
    this.opened.add(inbox);
    return inbox;
  }

  async close(): Promise<void> {
    await Promise.all([this.connection.close(), ...[...this.opened].map(async (inbox) => inbox.close())]);
  }

  private keysOf(key: string): [lock: string, queue: string, fence: string] {
    const lock = physicalKey(this.options.prefix, key);
    return [lock, queueKey(lock), fenceKey(this.options.prefix)];
  }
}

/** What the scripts take for a place: the arrival number, '0' for a new one, and '!' for an inbox that is not seen. */
function placeOf({ arrival, uncountable }: QueueRequest): readonly [arrival: string, mark: string] {
  return [String(arrival ?? 0), uncountable ? '!' : ''];
}
