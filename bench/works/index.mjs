/**
 * @typedef {import('../competitors/index.mjs').Competitor} Competitor
 * @typedef {import('../lib/measure.mjs').RoundResult} RoundResult
 *
 * @typedef {object} RoundContext what a round gets, in a process of its own
 * @property {string} url
 * @property {string} lib the library's package folder
 * @property {import('../lib/redis-counters.mjs').RedisCounters} counters
 * @property {(options?: Partial<import('../competitors/index.mjs').OpenOptions>) => Promise<import('../competitors/index.mjs').LockUser>} open
 *   a new client of the competitor
 * @property {(count: number, body: (workers: import('../lib/workers.mjs').Workers) => Promise<RoundResult>) => Promise<RoundResult>} withWorkers
 *   processes with a client each, see the work's `worker`
 * @property {boolean} quick
 * @property {number} seconds how long a round is at least
 * @property {number} bursts how often a burst is repeated in a round
 * @property {number} cutOffMs when a burst is given up
 *
 * @typedef {object} Column
 * @property {string} title
 * @property {string} figure of the round's result
 * @property {number} [digits]
 *
 * @typedef {object} Work
 * @property {string} name for --only
 * @property {string} title
 * @property {(competitor: Competitor) => boolean} takes whether this competitor does this work
 * @property {number} [retryMs] how often the peers that poll ask again, where another pause makes them faster
 * @property {Column[]} [columns] instead of the usual ones
 * @property {number} [rounds] instead of the usual number: what takes a minute is done once
 * @property {(context: RoundContext, competitor: Competitor) => Promise<RoundResult>} run
 * @property {(context: RoundContext, worker: import('../lib/workers.mjs').WorkerSide) => Promise<void>} [worker]
 */
import { burst1000, burst200 } from './burst.mjs';
import { fairWorks } from './fair.mjs';
import { held } from './held.mjs';
import { decorated } from './decorated.mjs';
import { memory } from './memory.mjs';
import { ownKeys, single } from './own-keys.mjs';
import { nodes, replicas } from './nodes.mjs';
import { processes, readWrite, semaphore } from './processes.mjs';
import { sustained1000, sustained200 } from './sustained.mjs';
import { wake } from './wake.mjs';

/** The shortest default among the peers. */
export const defaultRetryMs = 10;

/** @type {Work[]} a new work needs its file and a line here */
export const works = [
  single,
  ownKeys,
  burst200,
  burst1000,
  sustained200,
  sustained1000,
  ...fairWorks,
  processes,
  semaphore,
  readWrite,
  nodes,
  replicas,
  wake,
  held,
  memory,
  decorated,
];
