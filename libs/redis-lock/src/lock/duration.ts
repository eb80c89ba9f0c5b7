import { inspect } from 'node:util';
import ms from 'ms';
import { LockArgumentError } from './lock.errors.js';

type Unit = 'ms' | 's' | 'm' | 'h' | 'd';

/** A duration: milliseconds as a number, or a text such as `'500ms'`, `'10s'`, `'5m'`, `'1.5 h'`. */
export type Duration = number | `${number}${Unit}` | `${number} ${Unit}`;

/** The longest duration in ms: what a timer of Node can hold, 24.8 days. */
export const MAX_DURATION_MS = 2 ** 31 - 1;

export interface DurationRule {
  /** The smallest value, in ms. */
  readonly min: number;
  /** Whether `Infinity` may be asked for. */
  readonly infinite?: boolean;
}

/**
 * Reads a duration as whole milliseconds, rounded up.
 * @throws LockArgumentError that names the option and the lock.
 */
export function parseDuration(value: unknown, option: string, lock: string, rule: DurationRule): number {
  const parsed = toMs(value);
  if (parsed === Infinity && value === Infinity && rule.infinite) return Infinity;
  if (parsed === undefined || !Number.isFinite(parsed) || parsed < rule.min || parsed > MAX_DURATION_MS) {
    throw new LockArgumentError(
      `Lock "${lock}": option "${option}" is ${inspect(value, { depth: 0 })}, but must be a duration from ${rule.min} ms to ${MAX_DURATION_MS} ms, ` +
        `as a number of milliseconds or a text such as '500ms', '10s' or '5m'${rule.infinite ? ', or Infinity' : ''}.`,
      lock,
    );
  }
  return Math.ceil(parsed);
}

function toMs(value: unknown): number | undefined {
  if (typeof value === 'number') return value;
  if (typeof value !== 'string' || value === '' || value.length > 100) return undefined;
  return ms(value as ms.StringValue);
}
