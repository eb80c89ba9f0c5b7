/**
 * @typedef {import('./critical-section.mjs').HoldRecord} HoldRecord
 *
 * @typedef {object} Violation
 * @property {'overlap' | 'order' | 'lost update'} kind
 * @property {string} what
 */

/**
 * The holds of a process, of which it said when each began and ended; of one that was killed in its section, until then
 * at the longest.
 *
 * @param {readonly { readonly event: string }[]} said what `worker.mjs` said
 * @param {number} [killedAt]
 * @returns {HoldRecord[]}
 */
export function holdsOf(said, killedAt = Infinity) {
  const only = (/** @type {string} */ name) =>
    /** @type {(HoldRecord & { event: string })[]} */ (said.filter(({ event }) => event === name));
  const ended = only('held');
  const known = new Set(ended.map(({ key, token }) => `${key} ${token}`));
  const begun = only('began').filter(({ key, token }) => !known.has(`${key} ${token}`));
  return [...ended, ...begun.map((hold) => ({ ...hold, until: Math.min(hold.until, killedAt) }))];
}

/**
 * Finds what no history of a lock may have: more valid holds of one key at a time than it lets in, tokens that do not grow from hold to
 * hold, and lost updates of the counter that the tokens guard.
 *
 * @param {readonly HoldRecord[]} records
 * @param {Record<string, number>} [counters] the value of the counter of each key at the end; it began at 0
 * @returns {Violation[]}
 */
export function checkHistory(records, counters = {}) {
  /** @type {Map<string, HoldRecord[]>} */
  const byKey = new Map(Object.keys(counters).map((key) => [key, []]));
  for (const record of records) {
    const ofKey = byKey.get(record.key);
    if (ofKey) ofKey.push(record);
    else byKey.set(record.key, [record]);
  }
  return [...byKey].flatMap(([key, ofKey]) => [
    ...checkHolds(ofKey),
    ...checkReads(ofKey),
    ...checkCounter(key, ofKey, counters[key]),
  ]);
}

/**
 * Overlaps and the order of tokens. Who had lost the lock before it began has no valid hold. Holds that share a lock may
 * overlap as long as there are permits for all, and of two that cannot be together the later one has the higher token.
 *
 * @param {readonly HoldRecord[]} records
 */
function checkHolds(records) {
  const valid = records.filter(({ from, until }) => until > from).sort((one, other) => one.from - other.from);
  /** @type {Violation[]} */
  const violations = [];
  /** @type {HoldRecord[]} */
  let together = [];
  /** The highest token of each number of permits. @type {Map<number, HoldRecord>} */
  const highest = new Map();
  for (const hold of valid) {
    const { permits = 1, limit = 1 } = hold;
    together = together.filter(({ until }) => until > hold.from);
    const latest = together.reduce((one, other) => (other.until > one.until ? other : one), together[0] ?? hold);
    if (together.reduce((sum, other) => sum + (other.permits ?? 1), permits) > limit) {
      const ms = (Math.min(hold.until, latest.until) - hold.from).toFixed(3);
      violations.push({ kind: 'overlap', what: `${describe(latest)} and ${describe(hold)} overlap by ${ms} ms` });
    }
    for (const [theirs, other] of highest) {
      if (theirs + permits <= limit || hold.token > other.token) continue;
      violations.push({ kind: 'order', what: `${describe(hold)} began after ${describe(other)}, a higher token` });
    }
    together.push(hold);
    if (hold.token > (highest.get(permits)?.token ?? 0)) highest.set(permits, hold);
  }
  return violations;
}

/**
 * Each accepted write must have begun from a value of its own.
 *
 * @param {readonly HoldRecord[]} records
 */
function checkReads(records) {
  /** @type {Map<number, HoldRecord>} */
  const writers = new Map();
  /** @type {Violation[]} */
  const violations = [];
  for (const record of records) {
    if (record.write !== 'accepted' || record.read === undefined) continue;
    const other = writers.get(record.read);
    if (other) {
      const what = `${describe(other)} and ${describe(record)} both made ${record.read + 1} of ${record.read}`;
      violations.push({ kind: 'lost update', what });
    }
    writers.set(record.read, record);
  }
  return violations;
}

/**
 * Where a process was killed, nobody knows whether its last write was accepted.
 *
 * @param {string} key
 * @param {readonly HoldRecord[]} records
 * @param {number | undefined} value
 * @returns {Violation[]}
 */
function checkCounter(key, records, value) {
  if (value === undefined) return [];
  const accepted = records.filter(({ write }) => write === 'accepted').length;
  const unknown = records.filter(({ write }) => write === 'unknown').length;
  if (value >= accepted && value <= accepted + unknown) return [];
  const writes = unknown > 0 ? `${accepted} to ${accepted + unknown}` : String(accepted);
  return [{ kind: 'lost update', what: `the counter of "${key}" is ${value} after ${writes} accepted writes` }];
}

/** @param {HoldRecord} hold */
function describe({ key, token, who, from, until }) {
  return `"${key}" held by ${who} under ${token} (${from.toFixed(3)} to ${until.toFixed(3)})`;
}
