/**
 * @typedef {object} OpenOptions
 * @property {string} lib the library's package folder
 * @property {number} retryMs how often a peer that polls asks again
 * @property {boolean} [renew] whether the lease is renewed, where that is a choice
 * @property {() => void} [onLost] called when a lock is lost, where the competitor tells
 *
 * @typedef {object} LockUser what a work gets to know of a competitor
 * @property {(key: string) => Promise<(() => Promise<unknown>) & { permits?: number }>} acquire waits without end; gives
 *   the release, and how many permits it has, 1 unless it says so
 * @property {() => unknown} close
 *
 * @typedef {object} Competitor
 * @property {string} name as it is shown
 * @property {'own' | 'floor' | 'peer' | 'publish' | 'nodes' | 'semaphore' | 'read/write' | 'replicas'} group those after
 *   `publish` do one work only
 * @property {string} [package] on npm
 * @property {string} settings for the documentation
 * @property {boolean} [renews] whether a handle renews its lease by itself
 * @property {boolean} [waits] false: it has no way to wait for a key that is held
 * @property {(url: string, options: OpenOptions) => Promise<LockUser>} open
 */
import { floor } from './floor.mjs';
import { majority, ownNodes, ownNodesWithoutFencing } from './nodes.mjs';
import { own, ownFair } from './own.mjs';
import { publish } from './publish.mjs';
import { ownReadWrite, ownWithoutReaders } from './read-write.mjs';
import { redisKitLock } from './redis-kit-lock.mjs';
import { redisSemaphore } from './redis-semaphore.mjs';
import { besideNobody, besideWaiting } from './replicas.mjs';
import { redlockUniversal } from './redlock-universal.mjs';
import { ownSemaphore, redisSemaphoreSemaphore } from './semaphores.mjs';
import { sesamecareRedlock } from './sesamecare-redlock.mjs';
import { simpleRedisMutex } from './simple-redis-mutex.mjs';
import { verrou } from './verrou.mjs';

/** @type {Competitor[]} */
export const competitors = [
  own,
  ownFair,
  floor,
  redlockUniversal,
  redisSemaphore,
  sesamecareRedlock,
  simpleRedisMutex,
  verrou,
  redisKitLock,
  publish,
  ownNodes,
  ownNodesWithoutFencing,
  majority,
  ownSemaphore,
  redisSemaphoreSemaphore,
  ownReadWrite,
  ownWithoutReaders,
  besideNobody,
  besideWaiting,
];

/** The lease of every lock of the benchmark. */
export { ttlMs } from './ttl.mjs';
