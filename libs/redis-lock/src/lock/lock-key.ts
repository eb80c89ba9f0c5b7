import { inspect } from 'node:util';
import { LockArgumentError } from './lock.errors.js';

/** The longest key, in bytes of UTF-8. */
export const MAX_KEY_BYTES = 1024;

/** What stands for a placeholder in {@link LockKey.template}. */
const PLACEHOLDER = '<>';

/** The name of a lock, with the template that it was made from. Make one with {@link lockKey}, or pass a string. */
export class LockKey {
  private constructor(
    /** The key as it is compared, logged and reported. */
    readonly text: string,
    /**
     * The key without its values (`order:<>:<>`): few different ones, so fit for metrics. A plain string is its own
     * template.
     */
    readonly template: string,
  ) {}

  /**
   * The key that a plain string names.
   * @throws LockArgumentError for what is no string, empty, longer than 1,024 bytes or not well-formed Unicode.
   */
  static of(input: string | LockKey): LockKey {
    if (input instanceof LockKey) return input;
    if (typeof input !== 'string') {
      throw new LockArgumentError(
        `A lock key must be a string or a lockKey\`…\`, but it is ${inspect(input, { depth: 0 })}.`,
        String(inspect(input, { depth: 0 })),
      );
    }
    return new LockKey(checkKey(input), input);
  }

  /**
   * The key of literal parts with values between them; {@link KeyTemplate} and {@link lockKey} both come here.
   * Values are escaped so that two different tuples of values never make one key.
   */
  static compose(literals: readonly string[], values: readonly KeyValue[]): LockKey {
    const escape = valueEscape(literals);
    let text = literals[0] ?? '';
    values.forEach((value, index) => (text += escape(String(value)) + (literals[index + 1] ?? '')));
    return new LockKey(checkKey(text), literals.join(PLACEHOLDER));
  }

  toString(): string {
    return this.text;
  }
}

/** What may stand in a placeholder. */
export type KeyValue = string | number | bigint | boolean;

export function isKeyValue(value: unknown): value is KeyValue {
  return (
    typeof value === 'string' ||
    typeof value === 'bigint' ||
    typeof value === 'boolean' ||
    (typeof value === 'number' && Number.isFinite(value))
  );
}

/**
 * A key with values in it: `` lockKey`order:${userId}:${voucherId}` `` is the key of
 * `@Locked('order:<userId>:<voucherId>')`.
 * @throws LockArgumentError for a value that is no string, finite number, bigint or boolean, and for two values with no
 * separator.
 */
export function lockKey(literals: TemplateStringsArray, ...values: KeyValue[]): LockKey {
  const name = literals.join(PLACEHOLDER);
  checkSeparators(literals, name);
  for (const value of values) {
    if (!isKeyValue(value)) {
      throw new LockArgumentError(`lockKey\`${name}\`: ${rejectedValue(value)}`, name);
    }
  }
  return LockKey.compose(literals, values);
}

export function rejectedValue(value: unknown): string {
  return (
    `a placeholder is ${inspect(value, { depth: 0 })}, but must be a string, a finite number, a bigint or a boolean. ` +
    'Name a property that identifies it, such as its id.'
  );
}

/** A character that parts two values. Letters, digits and `%` are what escaped values consist of. */
const SEPARATOR = /[^\p{L}\p{N}%]/u;

/**
 * Between two placeholders there must be a separator, or `1`+`23` and `12`+`3` would be one key.
 * @throws LockArgumentError
 */
export function checkSeparators(literals: readonly string[], name: string): void {
  for (const between of literals.slice(1, -1)) {
    if (!SEPARATOR.test(between)) {
      throw new LockArgumentError(
        `Lock "${name}": two placeholders need a separator between them, such as ":"; ` +
          'without one, different values would make the same key.',
        name,
      );
    }
  }
}

/** The literals of a template or of a call site are one array for ever, so its escape is made once. */
const escapes = new WeakMap<readonly string[], (value: string) => string>();

/** Values give up `%`, `:`, braces and every separator that stands between two placeholders of this template. */
function valueEscape(literals: readonly string[]): (value: string) => string {
  const known = escapes.get(literals);
  if (known) return known;
  const escaped = new Set(['%', ':', '{', '}']);
  for (const between of literals.slice(1, -1)) {
    for (const char of between) if (SEPARATOR.test(char)) escaped.add(char);
  }
  const pattern = new RegExp(
    `[${[...escaped].map((char) => `\\u{${char.codePointAt(0)?.toString(16)}}`).join('')}]`,
    'gu',
  );
  const escape = (value: string): string => value.replace(pattern, percentEncode);
  escapes.set(literals, escape);
  return escape;
}

function percentEncode(char: string): string {
  return [...Buffer.from(char)].map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`).join('');
}

function checkKey(text: string): string {
  if (text === '') throw new LockArgumentError('A lock key must not be empty.', text);
  if (!text.isWellFormed()) {
    throw new LockArgumentError('A lock key must be well-formed Unicode; it contains half of a surrogate pair.', text);
  }
  const bytes = Buffer.byteLength(text);
  if (bytes > MAX_KEY_BYTES) {
    const start = `${text.slice(0, 40)}…`;
    throw new LockArgumentError(
      `Lock "${start}": the key has ${bytes} bytes, and ${MAX_KEY_BYTES} are the most. Use an id, or a hash of the long part.`,
      start,
    );
  }
  return text;
}
