import { checkSeparators, isKeyValue, LockKey, rejectedValue, type KeyValue } from './lock-key.js';
import { LockArgumentError } from './lock.errors.js';

/** One `<root.property:type>` of a template. */
export interface Placeholder {
  /** As it is written, without the angle brackets. */
  readonly source: string;
  /** The parameter's name or position, or the part of a request. */
  readonly root: string;
  /** The properties below it. */
  readonly path: readonly string[];
  /** `int`: a canonical integer, so that `9` and `09` cannot name one thing by two keys. */
  readonly type: 'plain' | 'int';
}

const SEGMENT = /^[\p{ID_Continue}$-]+$/u;
const CANONICAL_INTEGER = /^(0|-?[1-9]\d*)$/;

/**
 * A parsed key template: `order:<userId>:<dto.voucherId>`. A placeholder is a root and properties below it, with `:int`
 * for canonical integers only; `<<` is a literal `<`.
 */
export class KeyTemplate {
  private constructor(
    readonly source: string,
    private readonly literals: readonly string[],
    readonly placeholders: readonly Placeholder[],
    private readonly where: string,
  ) {}

  /**
   * @param where what the template belongs to (`@Locked on OrderService.buy`), for messages.
   * @throws LockArgumentError when it is malformed.
   */
  static parse(source: string, where: string): KeyTemplate {
    const literals = [''];
    const placeholders: Placeholder[] = [];
    for (let at = 0; at < source.length; at++) {
      const char = source[at] as string;
      if (char !== '<' || source[at + 1] === '<') {
        literals[literals.length - 1] += char;
        if (char === '<') at++;
        continue;
      }
      const end = source.indexOf('>', at);
      if (end < 0) {
        throw new LockArgumentError(
          `${where}: "${source}" has a "<" without ">"; write "<<" for a literal "<".`,
          source,
        );
      }
      placeholders.push(parsePlaceholder(source.slice(at + 1, end), source, where));
      literals.push('');
      at = end;
    }
    checkSeparators(literals, source);
    const template = new KeyTemplate(source, literals, placeholders, where);
    if (placeholders.length === 0) template.fill(() => undefined);
    return template;
  }

  /**
   * The key with its values.
   * @param rootValue gives the value of a placeholder's root.
   * @param fromRequest tells whether the values of a root come from a request, so that a bad one answers 400.
   * @throws LockArgumentError that names the placeholder, the method and what it got.
   */
  fill(rootValue: (root: string) => unknown, fromRequest: (root: string) => boolean = () => false): LockKey {
    const values = this.placeholders.map((placeholder) =>
      this.valueOf(placeholder, rootValue(placeholder.root), fromRequest(placeholder.root)),
    );
    try {
      return LockKey.compose(this.literals, values);
    } catch (error) {
      const sources = this.placeholders.filter(({ root }) => fromRequest(root)).map(({ source }) => source);
      const what = error instanceof Error ? error.message : String(error);
      const blame = sources.length > 0 ? { fromRequest: sources.join(', ') } : {};
      throw new LockArgumentError(`${this.where}: ${what}`, this.source, { cause: error, ...blame });
    }
  }

  private valueOf(placeholder: Placeholder, root: unknown, fromRequest: boolean): KeyValue {
    let value = root;
    for (const property of placeholder.path) {
      value = value === undefined || value === null ? undefined : (value as Record<string, unknown>)[property];
    }
    if (isKeyValue(value) && (placeholder.type === 'plain' || isCanonicalInteger(value))) return value;
    const problem = isKeyValue(value)
      ? `it is ${JSON.stringify(String(value))}, which is not a canonical integer.`
      : rejectedValue(value);
    throw new LockArgumentError(
      `${this.where}: placeholder <${placeholder.source}> of "${this.source}": ${problem}`,
      this.source,
      fromRequest ? { fromRequest: placeholder.source } : {},
    );
  }
}

function isCanonicalInteger(value: KeyValue): boolean {
  if (typeof value === 'number') return Number.isSafeInteger(value);
  return typeof value !== 'boolean' && CANONICAL_INTEGER.test(String(value));
}

function parsePlaceholder(source: string, template: string, where: string): Placeholder {
  const [path = '', type, ...rest] = source.split(':');
  const [root = '', ...properties] = path.split('.');
  if (![root, ...properties].every((segment) => SEGMENT.test(segment))) {
    throw new LockArgumentError(
      `${where}: <${source}> in "${template}" is not a placeholder; write <parameter>, <parameter.property> or <0.property>, ` +
        'and "<<" for a literal "<".',
      template,
    );
  }
  if (rest.length > 0 || (type !== undefined && type !== 'int')) {
    throw new LockArgumentError(
      `${where}: <${source}> in "${template}" asks for an unknown type; ":int" is the only one.`,
      template,
    );
  }
  return { source, root, path: properties, type: type ?? 'plain' };
}
