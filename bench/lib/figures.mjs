/**
 * @typedef {import('./rounds.mjs').Row} Row
 * @typedef {Map<string, Row[]>} Results by work
 * @typedef {object} Held
 * @property {string} figure what has to hold
 * @property {boolean | undefined} held undefined: not measured, or not available
 * @property {string} seen
 */

const rate = 'opsPerSecond';

/** Looks things up in the results; what is missing is NaN, and NaN holds nothing and breaks nothing. */
class Reader {
  /** @param {Results} results */
  constructor(results) {
    this.results = results;
  }

  /**
   * @param {string} work
   * @param {string} figure
   * @param {(row: Row) => boolean} [which]
   */
  get(work, figure, which = isOwn) {
    return this.results.get(work)?.find(which)?.figures[figure] ?? NaN;
  }

  /**
   * @param {string} work
   * @param {string} figure
   * @param {(row: Row) => boolean} one
   * @param {(row: Row) => boolean} other
   */
  ratio(work, figure, one, other) {
    return this.get(work, figure, one) / this.get(work, figure, other);
  }

  /**
   * The peer with the most operations a second.
   *
   * @param {string} work
   */
  bestPeer(work) {
    const peers = (this.results.get(work) ?? []).filter(({ group, figures }) => group === 'peer' && figures[rate]);
    const [best] = peers.sort((a, b) => Number(b.figures[rate]) - Number(a.figures[rate]));
    return { name: best?.competitor ?? '?', rate: best?.figures[rate] ?? NaN, p99: best?.figures.p99 ?? NaN };
  }
}

/** @param {Row} row */
const isOwn = ({ competitor }) => competitor === 'nestjs-redis-lock';
/** @param {Row} row */
const isFair = ({ competitor }) => competitor === 'nestjs-redis-lock, fair';
/** @param {Row} row */
const isFloor = ({ group }) => group === 'floor';
/** @param {string} beginning of its name */
const named =
  (beginning) =>
  (/** @type {Row} */ { competitor }) =>
    competitor.startsWith(beginning);
/** @param {Row} row */
const isPublish = ({ group }) => group === 'publish';

/**
 * @typedef {[seen: number, limit: number, unit?: string]} Check a limit below zero is a minimum
 */

/**
 * Everything that this library promises, measured in the same run.
 *
 * @param {Results} results
 * @returns {Held[]}
 */
export function figuresOf(results) {
  const read = new Reader(results);
  const against = (/** @type {string} */ work) => {
    const peer = read.bestPeer(work);
    return {
      ...peer,
      faster: read.get(work, rate) / peer.rate,
      p99: read.get(work, 'p99') / peer.p99,
    };
  };
  const ownKeys = read.get('own-keys', rate);
  const [b200, b1000] = [against('burst-200'), against('burst-1000')];
  const [sustained, processes] = [against('sustained-200'), against('processes')];
  const contended = ['burst-200', 'burst-1000', 'sustained-200', 'sustained-1000'];
  const requests = contended.map((work) => read.get(work, 'requestsPerOp'));
  const fair = ['fair-10', 'fair-100', 'fair-1000'].map((work) => read.get(work, 'requestsPerOp', isFair));
  const wake = read.get('wake', 'p50') / read.get('wake', 'p50', isPublish);
  const publishes = ['single', 'own-keys'].reduce((sum, work) => sum + read.get(work, 'publishes'), 0);
  return [
    figure('one caller, new keys: lock and unlock in ≤ 1.15 × the time of the floor', [
      atMost(read.get('single', rate, isFloor) / read.get('single', rate), 1.15, '×'),
    ]),
    figure('64 callers, own keys: ≥ 0.80 × the floor and ≥ 10,000 cycles a second', [
      atLeast(ownKeys / read.get('own-keys', rate, isFloor), 0.8, '×'),
      atLeast(ownKeys, 10_000, 'a second'),
    ]),
    figure('200 callers, one key, burst: ≥ 20 × the best peer', [atLeast(b200.faster, 20, `× ${b200.name}`)]),
    figure('200 callers, one key, sustained: ≥ 12 × the best peer, p99 wait ≤ 0.05 × its', [
      atLeast(sustained.faster, 12, `× ${sustained.name}`),
      atMost(sustained.p99, 0.05, '× its p99'),
    ]),
    figure('1,000 callers, one key, burst: no slower a hand-over than with 200, ≥ 40 × the best peer', [
      atLeast(read.get('burst-1000', rate) / read.get('burst-200', rate), 1, '× the rate with 200'),
      atLeast(b1000.faster, 40, `× ${b1000.name}`),
    ]),
    figure('requests to Redis a hand-over, 200 and 1,000 callers: ≤ 0.15', [atMost(Math.max(...requests), 0.15)]),
    figure('requests to Redis a hand-over, `fair: true`: ≤ 2.05, the same with 10, 100 and 1,000 callers', [
      atMost(Math.max(...fair), 2.05),
      atMost(Math.max(...fair) - Math.min(...fair), 0.05, 'apart'),
    ]),
    figure('4 processes × 25 callers, 1 ms held: ≥ 1.4 × the best peer, p99 wait ≤ 0.4 × its', [
      atLeast(processes.faster, 1.4, `× ${processes.name}`),
      atMost(processes.p99, 0.4, '× its p99'),
    ]),
    figure("semaphore, 5 permits: ≥ 1.6 × redis-semaphore's, p99 wait ≤ 0.5 × its, requests ≤ 2.1", [
      atLeast(read.ratio('semaphore', rate, named('nestjs-redis-lock, sem'), named('redis-semaphore, S')), 1.6, '×'),
      atMost(
        read.ratio('semaphore', 'p99', named('nestjs-redis-lock, sem'), named('redis-semaphore, S')),
        0.5,
        '× its p99',
      ),
      atMost(read.get('semaphore', 'requestsPerOp', named('nestjs-redis-lock, sem')), 2.1, 'requests'),
    ]),
    figure('read/write lock, 95 % readers: ≥ 4 × the same under a plain lock', [
      atLeast(
        read.ratio('read-write', rate, named('nestjs-redis-lock, read'), named('nestjs-redis-lock, the')),
        4,
        '×',
      ),
    ]),
    figure('5 nodes, one caller: in ≤ 1.8 × the time of a bare majority, with `fencing: false` ≤ 1.25 ×', [
      atMost(
        read.ratio('nodes', rate, named('a bare majority'), ({ competitor }) => competitor.endsWith('5 nodes')),
        1.8,
        '×',
      ),
      atMost(
        read.ratio('nodes', rate, named('a bare majority'), ({ competitor }) => competitor.endsWith('no fencing')),
        1.25,
        '×',
      ),
    ]),
    figure('8 locks wait for a replica that is stopped: others ≥ 0.8 × as many a second', [
      atLeast(read.ratio('replicas', rate, named('8 locks'), named('nobody')), 0.8, '×'),
    ]),
    figure('release until the waiter in another client runs, p50: ≤ 1.6 × PUBLISH until an idle subscriber has it', [
      atMost(wake, 1.6, '×'),
    ]),
    figure('uncontended: no PUBLISH', [atMost(publishes, 0, 'commands')]),
    figure('10,000 locks held for a minute, ttl 30 s: none lost, < 5 % of one core, one timer', [
      atMost(read.get('held', 'lost'), 0, 'lost'),
      atMost(read.get('held', 'ownCpuPercent'), 5, '%'),
      atMost(read.get('held', 'timers'), 1, 'timers'),
    ]),
    figure('`@Locked` on a provider over the bare client: ≤ 10 µs a call', [
      atMost(read.get('decorated', 'differenceUs'), 10, 'µs'),
    ]),
  ];
}

/**
 * @param {number} seen
 * @param {number} limit
 * @param {string} [unit]
 */
function atMost(seen, limit, unit = '') {
  return { seen, unit, holds: seen <= limit };
}

/**
 * @param {number} seen
 * @param {number} limit
 * @param {string} [unit]
 */
function atLeast(seen, limit, unit = '') {
  return { seen, unit, holds: seen >= limit };
}

/**
 * @param {string} text
 * @param {{ seen: number, unit: string, holds: boolean }[]} checks
 * @returns {Held}
 */
function figure(text, checks) {
  if (checks.some(({ seen }) => Number.isNaN(seen))) return { figure: text, held: undefined, seen: '' };
  const seen = checks.map((check) => `${number(check.seen)} ${check.unit}`.trim()).join(', ');
  return { figure: text, held: checks.every(({ holds }) => holds), seen };
}

/** @param {number} value */
function number(value) {
  const digits = Math.abs(value) >= 100 || Number.isInteger(value) ? 0 : Math.abs(value) < 0.1 ? 3 : 2;
  return value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits });
}
