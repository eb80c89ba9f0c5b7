import { Cluster, Redis, type ClusterNode, type ClusterOptions, type RedisOptions } from 'ioredis';
import { LockArgumentError } from '../../lock/lock.errors.js';
import { setPatientTimeout, withTimeout } from '../../lock/timeout.js';

/** What we need of the user's own client: its options, through a duplicate. It is never used, changed or closed. */
export interface RedisClientLike {
  readonly options: object;
  duplicate(override?: object): unknown;
}

/** The same of an ioredis Cluster. */
export interface RedisClusterClientLike {
  readonly isCluster: boolean;
  readonly options: object;
  duplicate(nodes?: never[], override?: object): unknown;
}

/** Some nodes of a Cluster, of which the others are learned, and options of ioredis for it. */
export interface RedisClusterNodes {
  readonly cluster: ClusterNode[];
  readonly options?: ClusterOptions;
}

export type RedisServerSource = string | RedisOptions | RedisClientLike;

export type RedisClusterSource = RedisClusterNodes | RedisClusterClientLike;

/**
 * Where Redis is: a URL; ioredis options, those of Sentinels too (`{ sentinels, name }`); `{ cluster: [{ host, port }] }`
 * for a Cluster; or an ioredis client of yours, of whose options we make connections of our own.
 */
export type RedisConnectionSource = RedisServerSource | RedisClusterSource;

/** So many command timeouts a server has for its first answer. */
const READY_AFTER = 2;

/** How often the table of a Cluster's slots is read anew although nothing has happened, in ms. */
const SLOTS_REFRESH_MS = 5_000;

function retryDelay(times: number): number {
  return Math.min(1_000, 25 * 2 ** Math.min(times, 10)) * (0.75 + Math.random() / 2);
}

/**
 * Makes a connection of ours. What would break a lock is set by us whatever the user's options say: nothing is queued
 * or sent again behind our back, keys are not prefixed, numbers are numbers, and a server that is gone is tried again
 * for ever, unless `reconnects` is false.
 * @throws LockArgumentError
 */
export function openRedis(source: RedisServerSource, commandTimeoutMs: number, reconnects = true): Redis {
  const ours: RedisOptions = {
    lazyConnect: false,
    enableOfflineQueue: false,
    enableReadyCheck: true,
    enableAutoPipelining: false,
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    autoResubscribe: false,
    keyPrefix: '',
    stringNumbers: false,
    readOnly: false,
    monitor: false,
    commandTimeout: undefined,
    // It listens anew for each command, and does not see what arrived while the event loop was blocked: see SilenceWatch.
    socketTimeout: undefined,
    // ioredis waits this long for a socket to end, also for one that has ended already.
    disconnectTimeout: 50,
    reconnectOnError: (error) => error.message.startsWith('READONLY'),
    retryStrategy: reconnects ? retryDelay : () => null,
    sentinelRetryStrategy: retryDelay,
    // A master that was replaced and does not know it yet is left when the Sentinels say so.
    failoverDetector: true,
  };
  const redis = connect(source, ours);
  endIfNeverReady(redis, READY_AFTER * commandTimeoutMs);
  return redis;
}

export function isCluster(source: unknown): source is RedisClusterSource {
  if (typeof source !== 'object' || source === null) return false;
  return isClusterClient(source) || Array.isArray((source as Partial<RedisClusterNodes>).cluster);
}

/**
 * Makes an ioredis Cluster of ours, which is there to know the slots; see {@link openRedis} for what is set by us.
 * @throws LockArgumentError
 */
export function openCluster(source: RedisClusterSource, commandTimeoutMs: number): Cluster {
  const options: ClusterOptions = source.options ?? {};
  const ours: ClusterOptions = {
    lazyConnect: false,
    enableOfflineQueue: false,
    enableAutoPipelining: false,
    scaleReads: 'master',
    keyPrefix: '',
    shardedSubscribers: false,
    slotsRefreshTimeout: commandTimeoutMs,
    slotsRefreshInterval: SLOTS_REFRESH_MS,
    clusterRetryStrategy: retryDelay,
    redisOptions: { ...options.redisOptions, keyPrefix: '', disconnectTimeout: 50, socketTimeout: undefined },
  };
  if (isClusterClient(source)) return source.duplicate([], ours) as Cluster;
  if (source.cluster.length === 0) throw refused(source);
  return new Cluster(source.cluster, { ...options, ...ours });
}

/** Closes a Cluster of ours, and waits until it has ended, `boundMs` at most. */
export async function closeCluster(cluster: Cluster, boundMs: number): Promise<void> {
  if (cluster.status === 'end') return;
  const ended = new Promise<void>((resolve) => cluster.once('end', resolve));
  cluster.disconnect();
  await withTimeout(ended, boundMs, () => new Error('the Cluster did not end')).catch(() => undefined);
}

/** A server that takes the connection and says nothing is tried again. */
function endIfNeverReady(redis: Redis, limitMs: number): void {
  let timer: NodeJS.Timeout | undefined;
  redis.on('connect', () => {
    clearTimeout(timer);
    timer = setPatientTimeout(() => redis.stream.destroy(new Error(`Not ready after ${limitMs} ms`)), limitMs).unref();
  });
  redis.on('ready', () => clearTimeout(timer));
  redis.on('close', () => clearTimeout(timer));
}

/** Closes a connection of ours, and waits until its socket has ended, `boundMs` at most. */
export async function closeRedis(redis: Redis, boundMs: number): Promise<void> {
  // Between two attempts to connect there is no socket, and none that could end.
  if (redis.status === 'end') return;
  if (redis.status === 'reconnecting') return redis.disconnect();
  const ended = new Promise<void>((resolve) => redis.once('end', resolve));
  redis.disconnect();
  await withTimeout(ended, boundMs, () => new Error('the socket did not end')).catch(() => redis.disconnect());
}

function connect(source: RedisServerSource, ours: RedisOptions): Redis {
  // A URL may carry options as well; in a duplicate ours have the last word.
  if (typeof source === 'string') return new Redis(checkUrl(source), { lazyConnect: true }).duplicate(ours);
  if (typeof source !== 'object' || source === null) throw refused(source);
  if (isClient(source)) return source.duplicate(ours) as Redis;
  if ('duplicate' in source || 'sendCommand' in source || 'isCluster' in source) throw refused(source);
  return new Redis({ ...source, ...ours });
}

function isClusterClient(source: object): source is RedisClusterClientLike {
  const { isCluster: is, duplicate, defineCommand } = source as Record<string, unknown>;
  return is === true && typeof duplicate === 'function' && typeof defineCommand === 'function';
}

function isClient(source: object): source is RedisClientLike {
  const { duplicate, options, defineCommand } = source as Record<string, unknown>;
  return (
    typeof duplicate === 'function' &&
    typeof defineCommand === 'function' &&
    typeof options === 'object' &&
    !isCluster(source)
  );
}

function checkUrl(url: string): string {
  if (/^(rediss?:\/\/|\/(?!\/))./.test(url)) return url;
  throw refused(url);
}

/** What was given is described and not shown: there may be a password in it. */
function refused(source: unknown): LockArgumentError {
  const described =
    typeof source === 'object' && source !== null ? `a ${source.constructor?.name ?? 'bare object'}` : typeof source;
  const given = typeof source === 'string' ? 'another text' : described;
  return new LockArgumentError(
    `Option "connection" is ${given}, but must be a URL (redis://…, rediss://… or the path of a socket), ioredis ` +
      'options, { cluster: [{ host, port }] }, or an ioredis client (new Redis(…) or new Cluster(…)). Other clients, ' +
      'such as node-redis, are not supported; pass their URL, or make an ioredis client.',
    'connection',
  );
}
