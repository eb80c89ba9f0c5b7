import { inspect } from 'node:util';
import { LockClient, type LockClientParts } from './lock/lock-client.js';
import { processWarnings, type LockLogger } from './lock/lock-events.js';
import type { LockDefaults } from './lock/lock-options.js';
import { refuseLacking, resolveClientSettings, secondsWarning } from './lock/lock-settings.js';
import { LockArgumentError } from './lock/lock.errors.js';
import { runOutsideScopes } from './lock/scope.js';
import type { LockStore } from './stores/lock-store.js';
import { MemoryLockStore } from './stores/memory/memory.store.js';
import { PassThroughLockStore } from './stores/pass-through/pass-through.store.js';
import type { RedisConnectionSource } from './stores/redis/redis-options.js';
import { RedisLockStore } from './stores/redis/redis.store.js';
import { REDLOCK_LACKS, RedlockLockStore } from './stores/redlock/redlock.store.js';

/**
 * What a lock client works on, and the defaults of its locks. Exactly one of `connection`, `nodes` and `store`, unless
 * `enabled` is false.
 */
export interface LockClientOptions extends LockDefaults {
  /**
   * One Redis, the master that Sentinels name, or a Cluster: a URL, ioredis options, `{ cluster: [{ host, port }] }`, or an
   * ioredis client of yours, which is duplicated and never used, changed or closed.
   */
  connection?: RedisConnectionSource;
  /**
   * Redlock: independent servers of Redis, an odd number of at least 3, none of them a replica of another or a Cluster.
   * A lock is held when a majority of them has granted it.
   */
  nodes?: RedisConnectionSource[];
  /**
   * `'memory'` for locks within this process, which is warned of where `NODE_ENV` is `production`, or a store of your
   * own, which is not closed with the client.
   */
  store?: 'memory' | LockStore;
  /**
   * Where warnings go.
   * @default Node's process warnings; in Nest a Logger of the context `RedisLock`
   */
  logger?: LockLogger;
}

const OWN_OPTIONS = ['connection', 'nodes', 'store', 'logger'];

/**
 * Makes a lock client without Nest.
 * @throws LockArgumentError for options that are wrong. It does not wait for Redis.
 */
export function createLockClient(options: LockClientOptions): LockClient {
  return new LockClient(resolveParts(options, 'createLockClient'));
}

/** @internal */
export function resolveParts(
  options: LockClientOptions,
  owner: string,
  defaultLogger = processWarnings,
  extra: readonly string[] = [],
): LockClientParts {
  const settings = resolveClientSettings(options, owner, [...OWN_OPTIONS, ...extra]);
  const { connection, nodes, store } = options;
  const logger = unbreakable(options.logger ?? defaultLogger);
  const warning = secondsWarning(options.ttl, owner);
  if (warning) logger.warn(warning);
  if (!settings.enabled) return { settings, logger, store: new PassThroughLockStore(), ownsStore: true };
  if ([connection, nodes, store].filter((each) => each !== undefined).length !== 1) {
    throw new LockArgumentError(`${owner}: give exactly one of "connection", "nodes" and "store".`, owner);
  }
  if (connection !== undefined) {
    const { prefix, commandTimeoutMs } = settings;
    // A client may be made inside of a lock, and its sockets outlive that.
    const redis = runOutsideScopes(() => new RedisLockStore({ connection, prefix, commandTimeoutMs, logger }));
    return { settings, logger, store: redis, ownsStore: true };
  }
  if (nodes !== undefined) {
    // Before anything is opened.
    refuseLacking({ lacks: REDLOCK_LACKS }, settings.lock, owner);
    const redlock = runOutsideScopes(() => new RedlockLockStore({ ...settings, nodes, logger }));
    return { settings, logger, store: redlock, ownsStore: true };
  }
  if ((store === 'memory' || store instanceof MemoryLockStore) && process.env['NODE_ENV'] === 'production') {
    logger.warn(
      `${owner}: the store in memory has locks within this process only; other nodes are not excluded. ` +
        'Give "connection" where there may be others.',
    );
  }
  if (store === 'memory') return { settings, logger, store: new MemoryLockStore(), ownsStore: true };
  const theirs = checkStore(store, owner);
  refuseLacking(theirs, settings.lock, owner);
  return { settings, logger, store: theirs, ownsStore: false };
}

/** What a logger throws must not end a lock. */
function unbreakable(logger: LockLogger): LockLogger {
  return {
    warn: (message) => {
      try {
        logger.warn(message);
      } catch {
        // There is nobody left to tell.
      }
    },
  };
}

function checkStore(store: unknown, owner: string): LockStore {
  const methods: (keyof LockStore)[] = ['acquire', 'release', 'renew', 'inspect', 'grants', 'close'];
  const candidate = store as Record<string, unknown> | null | undefined;
  if (typeof candidate === 'object' && methods.every((name) => typeof candidate?.[name] === 'function'))
    return store as LockStore;
  throw new LockArgumentError(
    `${owner}: option "store" is ${inspect(store, { depth: 0 })}, but must be 'memory' or an object with ${methods.join(', ')}.`,
    owner,
  );
}
