import { inspect } from 'node:util';
import type { LockLogger } from '../../lock/lock-events.js';
import { LockArgumentError } from '../../lock/lock.errors.js';
import type {
  AcquireCommand,
  AcquireReply,
  GrantInbox,
  GrantListener,
  LockFeature,
  LockState,
  LockStore,
  ReleaseCommand,
  ReleaseReply,
  RenewCommand,
  RenewReply,
} from '../lock-store.js';
import { fenceKey, physicalKey, queueKey } from '../redis/physical-key.js';
import { isCluster, type RedisConnectionSource, type RedisServerSource } from '../redis/redis-options.js';
import { Acquisition } from './acquisition.js';
import { Ending } from './ending.js';
import { Inspection } from './inspection.js';
import { Nodes } from './nodes.js';
import { Renewal } from './renewal.js';
import { acquireScript } from './scripts/acquire.js';
import { inspectScript } from './scripts/inspect.js';
import { releaseScript } from './scripts/release.js';
import { renewScript } from './scripts/renew.js';
import { tokenScript } from './scripts/token.js';
import { undoScript } from './scripts/undo.js';
import { Ties } from './ties.js';
import { Tokens } from './tokens.js';
import { WakeInbox } from './wake-inbox.js';

export interface RedlockStoreOptions {
  readonly nodes: readonly RedisConnectionSource[];
  readonly prefix: string;
  readonly nodeTimeoutMs: number;
  readonly commandTimeoutMs: number;
  /** Whether tokens grow with certainty, which may take a second round. */
  readonly fencing: boolean;
  readonly logger: LockLogger;
}

/** What the questions of a store share. */
export interface RedlockParts {
  readonly nodes: Nodes;
  readonly tokens: Tokens;
  readonly ties: Ties;
  readonly fencing: boolean;
}

type Keys = readonly [lock: string, queue: string, fence: string];

/** What no store over several nodes can do. */
export const REDLOCK_LACKS: readonly LockFeature[] = ['fair', 'replicas', 'shares'];

const SCRIPTS = [acquireScript, releaseScript, renewScript, inspectScript, tokenScript, undoScript];

/**
 * Locks in a majority of N independent servers of Redis, all asked at once: a lock outlives the loss of any minority of
 * them.
 * @see https://redis.io/docs/latest/develop/clients/patterns/distributed-locks/
 */
export class RedlockLockStore implements LockStore {
  readonly lacks: readonly LockFeature[];
  private readonly parts: RedlockParts;
  private readonly fence: string;
  private readonly opened = new Set<GrantInbox>();

  /** @throws LockArgumentError when `nodes` are not an odd number of different servers, at least 3. */
  constructor(private readonly options: RedlockStoreOptions) {
    const { prefix, nodeTimeoutMs, commandTimeoutMs, fencing, logger } = options;
    const sources = checkNodes(options.nodes);
    const nodes = new Nodes({ sources, timeoutMs: nodeTimeoutMs, commandTimeoutMs, logger, scripts: SCRIPTS });
    this.parts = { nodes, tokens: new Tokens(nodes), ties: new Ties(), fencing };
    this.fence = fenceKey(prefix);
    this.lacks = fencing ? REDLOCK_LACKS : [...REDLOCK_LACKS, 'fencing'];
  }

  acquire(command: AcquireCommand): Promise<AcquireReply> {
    const { parts } = this;
    const keys = this.keysOf(command.key);
    const called = performance.now();
    const start = (): Promise<AcquireReply> => new Acquisition(parts, command, keys, called).start();
    return this.whenReady(command.key, command.withinMs, start);
  }

  release(command: ReleaseCommand): Promise<ReleaseReply> {
    const { nodes, ties } = this.parts;
    const { key, member } = command;
    const [lock, queue] = this.keysOf(key);
    ties.cut(member);
    return this.whenReady(key, this.options.commandTimeoutMs, () => new Ending(nodes, command, [lock, queue]).start());
  }

  renew(commands: readonly RenewCommand[]): Promise<RenewReply>[] {
    return commands.map((command) => {
      const keys = this.keysOf(command.key);
      const start = (): Promise<RenewReply> => new Renewal(this.parts, command, keys).start();
      return this.whenReady(command.key, this.options.commandTimeoutMs, start);
    });
  }

  inspect(key: string): Promise<LockState> {
    const { nodes } = this.parts;
    const [lock, queue] = this.keysOf(key);
    const start = (): Promise<LockState> => new Inspection(nodes, key).start([lock, queue]);
    return this.whenReady(key, this.options.commandTimeoutMs, start);
  }

  grants(instance: string, listener: GrantListener): GrantInbox {
    const { prefix, commandTimeoutMs, logger } = this.options;
    const { nodes } = this.parts;
    const inbox = new WakeInbox({ prefix, instance, commandTimeoutMs, logger, nodes, listener });
    this.opened.add(inbox);
    return inbox;
  }

  async close(): Promise<void> {
    await Promise.all([this.parts.nodes.close(), ...[...this.opened].map(async (inbox) => inbox.close())]);
  }

  private whenReady<T>(key: string, withinMs: number, start: () => Promise<T>): Promise<T> {
    const { nodes } = this.parts;
    return nodes.areReady ? start() : nodes.untilReady(key, withinMs).then(start);
  }

  private keysOf(key: string): Keys {
    const lock = physicalKey(this.options.prefix, key);
    return [lock, queueKey(lock), this.fence];
  }
}

function checkNodes(nodes: unknown): RedisServerSource[] {
  const isList = Array.isArray(nodes);
  if (!isList || nodes.length < 3 || nodes.length % 2 === 0) {
    const given = isList ? `${nodes.length} of them` : inspect(nodes, { depth: 0 });
    throw refused(`is ${given}, but must be an odd number of servers, at least 3`);
  }
  if (new Set(nodes).size < nodes.length) throw refused('names a server twice; each must be another one');
  if (nodes.some(isCluster)) throw refused('has a Cluster in it; each node must be one server');
  return nodes as RedisServerSource[];
}

function refused(what: string): LockArgumentError {
  return new LockArgumentError(`Option "nodes" ${what}.`, 'nodes');
}
