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
 * Finds what no history of a lock may have: two valid holds of one key at a time, tokens that do not grow from hold to
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
 * Overlaps and the order of tokens. Who had lost the lock before it began has no valid hold.
 *
 * @param {readonly HoldRecord[]} records
 */
function checkHolds(records) {
  const valid = records.filter(({ from, until }) => until > from).sort((one, other) => one.from - other.from);
  /** @type {Violation[]} */
  const violations = [];
  /** @type {HoldRecord | undefined} */
  let latest;
  /** @type {HoldRecord | undefined} */
  let highest;
  for (const hold of valid) {
    if (latest && hold.from < latest.until) {
      const together = (Math.min(hold.until, latest.until) - hold.from).toFixed(3);
      const what = `${describe(latest)} and ${describe(hold)} overlap by ${together} ms`;
      violations.push({ kind: 'overlap', what });
    }
    if (highest && hold.token <= highest.token) {
      violations.push({ kind: 'order', what: `${describe(hold)} began after ${describe(highest)}, a higher token` });
    }
    if (!latest || hold.until > latest.until) latest = hold;
    if (!highest || hold.token > highest.token) highest = hold;
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
