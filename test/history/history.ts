import type { HoldRecord } from './critical-section.mjs';

export type { HoldRecord } from './critical-section.mjs';

export interface Violation {
  readonly kind: 'overlap' | 'order' | 'lost update';
  readonly what: string;
}

/**
 * Finds what no history of a lock may have: two valid holds of one key at a time, tokens that do not grow from hold to
 * hold, and lost updates of the counter that the tokens guard.
 * @param counters the value of the counter of each key at the end; it began at 0.
 */
export function checkHistory(records: readonly HoldRecord[], counters: Record<string, number> = {}): Violation[] {
  const byKey = new Map<string, HoldRecord[]>();
  for (const record of records) byKey.set(record.key, [...(byKey.get(record.key) ?? []), record]);
  for (const key of Object.keys(counters)) if (!byKey.has(key)) byKey.set(key, []);
  return [...byKey].flatMap(([key, ofKey]) => [
    ...checkHolds(ofKey),
    ...checkReads(ofKey),
    ...checkCounter(key, ofKey, counters[key]),
  ]);
}

/** Overlaps and the order of tokens. Who had lost the lock before it began has no valid hold. */
function checkHolds(records: readonly HoldRecord[]): Violation[] {
  const valid = records.filter(({ from, until }) => until > from).sort((one, other) => one.from - other.from);
  const violations: Violation[] = [];
  let latest: HoldRecord | undefined;
  let highest: HoldRecord | undefined;
  for (const hold of valid) {
    if (latest && hold.from < latest.until) {
      const together = (Math.min(hold.until, latest.until) - hold.from).toFixed(3);
      violations.push({
        kind: 'overlap',
        what: `${describe(latest)} and ${describe(hold)} overlap by ${together} ms`,
      });
    }
    if (highest && hold.token <= highest.token) {
      violations.push({ kind: 'order', what: `${describe(hold)} began after ${describe(highest)}, a higher token` });
    }
    if (!latest || hold.until > latest.until) latest = hold;
    if (!highest || hold.token > highest.token) highest = hold;
  }
  return violations;
}

/** Each accepted write must have begun from a value of its own. */
function checkReads(records: readonly HoldRecord[]): Violation[] {
  const writers = new Map<number, HoldRecord>();
  const violations: Violation[] = [];
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

/** Where a process was killed, nobody knows whether its last write was accepted. */
function checkCounter(key: string, records: readonly HoldRecord[], value: number | undefined): Violation[] {
  if (value === undefined) return [];
  const accepted = records.filter(({ write }) => write === 'accepted').length;
  const unknown = records.filter(({ write }) => write === 'unknown').length;
  if (value >= accepted && value <= accepted + unknown) return [];
  const writes = unknown > 0 ? `${accepted} to ${accepted + unknown}` : String(accepted);
  return [{ kind: 'lost update', what: `the counter of "${key}" is ${value} after ${writes} accepted writes` }];
}

function describe({ key, token, who, from, until }: HoldRecord): string {
  return `"${key}" held by ${who} under ${token} (${from.toFixed(3)} to ${until.toFixed(3)})`;
}
