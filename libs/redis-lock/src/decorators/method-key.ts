import { LockKey } from '../lock/lock-key.js';
import { KeyTemplate } from '../lock/key-template.js';
import { isLockError, LockArgumentError } from '../lock/lock.errors.js';
import { parametersOf, type Parameter } from './parameters.js';

/** A key template, or a function of the method's arguments. */
export type MethodKey<Args extends unknown[] = never[]> = string | ((...args: Args) => string | LockKey);

export type Method = (this: object, ...args: never[]) => unknown;

/**
 * Makes of a method's key what gives the key of one call. A template is checked here, when the class is defined; its
 * values are checked at each call.
 * @throws LockArgumentError when the template is malformed or names a parameter that does not exist.
 */
export function compileMethodKey(key: MethodKey, method: Method, where: string): (args: readonly unknown[]) => LockKey {
  if (typeof key === 'function') return (args) => callKeyFunction(key, args, where);
  if (typeof key !== 'string')
    throw new LockArgumentError(`${where}: the key must be a template or a function of the arguments.`, where);
  const template = KeyTemplate.parse(key, where);
  const parameters = parametersOf(method);
  const roots = new Map(template.placeholders.map(({ root }) => [root, rootReader(root, parameters, key, where)]));
  return (args) => template.fill((root) => roots.get(root)?.(args));
}

function callKeyFunction(
  key: (...args: never[]) => string | LockKey,
  args: readonly unknown[],
  where: string,
): LockKey {
  try {
    return LockKey.of(key(...(args as never[])));
  } catch (error) {
    const what = error instanceof Error ? error.message : String(error);
    throw new LockArgumentError(`${where}: the key function failed: ${what}`, where, { cause: error });
  }
}

function rootReader(
  root: string,
  parameters: readonly Parameter[] | undefined,
  template: string,
  where: string,
): (args: readonly unknown[]) => unknown {
  if (/^\d+$/.test(root)) {
    const index = Number(root);
    if (parameters && index >= parameters.length && !parameters.at(-1)?.rest) {
      throw new LockArgumentError(
        `${where}: <${root}> of "${template}" is a position, but the method has ${parameters.length} parameters.`,
        template,
      );
    }
    return (args) => args[index];
  }
  const index = parameters?.findIndex(({ name }) => name === root) ?? -1;
  if (index < 0) {
    const names = parameters?.map(({ name, rest }) => (rest ? '...' : '') + (name ?? '{…}')).join(', ');
    throw new LockArgumentError(
      `${where}: there is no parameter "${root}" for "${template}"; ` +
        `${names === undefined ? 'its source cannot be read' : `the method has (${names})`}. Parameters that are destructured, renamed by a minifier ` +
        'or hidden by another decorator below have no name here: use their position, as <0> or <0.id>, or a function of the arguments as the key.',
      template,
    );
  }
  return parameters?.[index]?.rest ? (args) => args.slice(index) : (args) => args[index];
}

/** Whether an error says that the lock of this call could not be had. */
export function isNotObtained(error: unknown): boolean {
  return isLockError(error) && (error.code === 'LOCK_BUSY' || error.code === 'LOCK_TIMEOUT');
}
