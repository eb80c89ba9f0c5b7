import type { LockLogger } from '../../lock/lock-events.js';
import { LockUnavailableError } from '../../lock/lock.errors.js';
import type {
  AcquireCommand,
  AcquireReply,
  GrantInbox,
  GrantListener,
  Holders,
  LockState,
  LockStore,
  QueueRequest,
  ReduceCommand,
  ReleaseCommand,
  ReleaseReply,
  RenewCommand,
  ReplicaDemand,
  RenewReply,
} from '../lock-store.js';
import { RedisGrantInbox } from './grant-inbox.js';
import { membersKey, physicalKey, queueKey } from './physical-key.js';
import { ClusterConnection } from './cluster-connection.js';
import { RedisConnection } from './redis-connection.js';
import { isCluster, type RedisConnectionSource } from './redis-options.js';
import { acquireScript } from './scripts/acquire.js';
import { inspectScript } from './scripts/inspect.js';
import { releaseScript } from './scripts/release.js';
import { renewScript } from './scripts/renew.js';
import { shareAcquireScript } from './scripts/share-acquire.js';
import { shareHoldersScript } from './scripts/share-holders.js';
import { shareReduceScript, shareReleaseScript } from './scripts/share-release.js';
import { shareRenewScript } from './scripts/share-renew.js';
import type { Servers } from './servers.js';

export interface RedisLockStoreOptions {
  readonly connection: RedisConnectionSource;
  readonly prefix: string;
  readonly commandTimeoutMs: number;
  readonly logger: LockLogger;
}

const SCRIPTS = [acquireScript, releaseScript, renewScript, inspectScript];

const SHARE_SCRIPTS = [shareAcquireScript, shareReleaseScript, shareReduceScript, shareRenewScript, shareHoldersScript];

/** Locks in one Redis or Cluster: a hash a lock and a sorted set of who waits for it, changed by one script a command. */
export class RedisLockStore implements LockStore {
  private readonly servers: Servers;
  private readonly opened = new Set<GrantInbox>();

  /** @throws LockArgumentError when `connection` is none. */
  constructor(private readonly options: RedisLockStoreOptions) {
    const { connection, commandTimeoutMs, logger } = options;
    const scripts = [...SCRIPTS, ...SHARE_SCRIPTS];
    const shared = { commandTimeoutMs, logger, scripts };
    this.servers = isCluster(connection)
      ? new ClusterConnection({ ...shared, source: connection })
      : new RedisConnection({ ...shared, source: connection });
  }

  acquire(command: AcquireCommand): Promise<AcquireReply> {
    return this.ask(command, performance.now());
  }

  release({ key, member, token, share, minHoldMs, successor: next }: ReleaseCommand): Promise<ReleaseReply> {
    const held = token === undefined ? '' : String(token);
    if (share) {
      return this.servers.run(shareReleaseScript, key, this.sharedKeysOf(key), [
        member,
        held,
        share.permits,
        minHoldMs,
      ]);
    }
    const args = next
      ? ([member, held, minHoldMs, next.member, next.leaseMs, arrivalOf(next), markOf(next)] as const)
      : ([member, held, minHoldMs] as const);
    return this.servers.run(releaseScript, key, this.keysOf(key), args);
  }

  renew(commands: readonly RenewCommand[]): Promise<RenewReply>[] {
    return commands.map((command) => {
      const { key, leaseMs, share, replicas } = command;
      if (replicas) return this.renewOnReplicas(command, replicas);
      const lock = physicalKey(this.options.prefix, key);
      return share
        ? this.servers.run(shareRenewScript, key, [lock], [ownerOf(command), share.permits, leaseMs])
        : this.servers.run(renewScript, key, [lock], [ownerOf(command), leaseMs]);
    });
  }

  holders(key: string): Promise<Holders> {
    const [lock, queue] = this.keysOf(key);
    return this.servers.run(shareHoldersScript, key, [lock, queue], []);
  }

  reduce(command: ReduceCommand): Promise<boolean> {
    const { key, share } = command;
    return this.servers.run(shareReduceScript, key, this.sharedKeysOf(key), [ownerOf(command), share.permits]);
  }

  inspect(key: string): Promise<LockState> {
    const [lock, queue] = this.keysOf(key);
    return this.servers.run(inspectScript, key, [lock, queue], []);
  }

  grants(instance: string, listener: GrantListener): GrantInbox {
    const { prefix, commandTimeoutMs, logger } = this.options;
    const { servers } = this;
    const inbox = new RedisGrantInbox({ prefix, instance, commandTimeoutMs, logger, servers, listener });
    this.opened.add(inbox);
    return inbox;
  }

  async close(): Promise<void> {
    await Promise.all([this.servers.close(), ...[...this.opened].map(async (inbox) => inbox.close())]);
  }

  /** Waits for replicas on a connection on which nobody else waits, and gives the lock back where they are too few. */
  private async renewOnReplicas(command: RenewCommand, { ack, timeoutMs }: ReplicaDemand): Promise<RenewReply> {
    const { key, member, token, share, leaseMs } = command;
    const lock = physicalKey(this.options.prefix, key);
    await this.servers.untilReady(key, this.options.commandTimeoutMs, lock);
    const pool = this.servers.nodeOf(lock)?.replicaPool;
    if (!pool) throw new LockUnavailableError(key, 'the node of its slot is not known', { mayHaveRun: false });
    return pool.use(async (connection) => {
      const count = ack === 'quorum' ? await pool.quorum(connection, key) : ack;
      const reply = share
        ? await connection.run(shareRenewScript, key, [lock], [ownerOf(command), share.permits, leaseMs, 'write'])
        : await connection.run(renewScript, key, [lock], [ownerOf(command), leaseMs, 'write']);
      if (reply.status === 'gone') return reply;
      const acknowledged = await connection.acknowledged(key, count, timeoutMs);
      if (acknowledged >= count) return reply;
      await this.release({ key, member, token, share, minHoldMs: 0 });
      const what = `${acknowledged} of ${count} replicas acknowledged it within ${timeoutMs} ms, and it was given back`;
      throw new LockUnavailableError(key, what, { mayHaveRun: false, acknowledged });
    });
  }

  /** A command that was refused as late teaches the server's clock, and is sent once more with what is left of its time. */
  private ask(command: AcquireCommand, called: number, wasLate = false): Promise<AcquireReply> {
    const { key, member, leaseMs, share, withinMs, queue, stillWanted } = command;
    const sent = performance.now();
    const left = withinMs - (sent - called);
    if (left <= 0) return Promise.reject(tooLate(command));
    const keys = this.keysOf(key);
    const [lock] = keys;
    const node = this.servers.nodeOf(lock);
    if (!node?.isReady) {
      return this.servers.untilReady(key, left, lock).then(() => this.ask(command, called, wasLate));
    }
    const notAfter = node.clock.in(left);
    const place = queue ? ([arrivalOf(queue), markOf(queue)] as const) : ([] as const);
    const asked = share
      ? this.servers.run(
          shareAcquireScript,
          key,
          this.sharedKeysOf(key),
          [member, leaseMs, notAfter, share.permits, share.limit, ...place],
          stillWanted,
        )
      : this.servers.run(acquireScript, key, keys, [member, leaseMs, notAfter, ...place], stillWanted);
    return asked.then((reply) => {
      if (reply.status !== 'late') return reply;
      this.servers.nodeOf(lock)?.clock.learn(reply.serverTimeUs, sent);
      if (wasLate) throw tooLate(command);
      return this.ask(command, called, true);
    });
  }

  private keysOf(key: string): [lock: string, queue: string, fence: string] {
    const lock = physicalKey(this.options.prefix, key);
    return [lock, queueKey(lock), this.servers.fenceOf(this.options.prefix, lock)];
  }

  private sharedKeysOf(key: string): readonly [lock: string, ...others: string[]] {
    const keys = this.keysOf(key);
    return [...keys, membersKey(keys[0])];
  }
}

function ownerOf({ member, token }: Pick<RenewCommand, 'member' | 'token'>): string {
  return `${member}/${token}`;
}

function tooLate({ key, withinMs }: AcquireCommand): LockUnavailableError {
  const what = `Redis received the command later than ${Math.round(withinMs)} ms after it was sent`;
  return new LockUnavailableError(key, what, { mayHaveRun: false, late: true });
}

/** What the scripts take for a place: its number, or '0' for a new one. */
function arrivalOf({ arrival }: QueueRequest): string {
  return arrival === undefined ? '0' : String(arrival);
}

/** What the scripts take for an inbox that is not seen. */
function markOf({ uncountable }: QueueRequest): string {
  return uncountable ? '!' : '';
}
