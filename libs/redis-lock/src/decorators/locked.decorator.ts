import { inspect } from 'node:util';
import type { Observable } from 'rxjs';
import 'reflect-metadata';
import type { LockOptions } from '../lock/lock-options.js';
import { MAX_PERMITS } from '../lock/shares.js';
import { FACTORY_SETTINGS, resolveLockSettings } from '../lock/lock-settings.js';
import { LockArgumentError } from '../lock/lock.errors.js';
import { invoke, returnKindOf, type ReturnKind } from './locked-kinds.js';
import { methodOf, nameOf, replaceMethod, unwrapped } from './locked-method.js';
import { compileMethodKey, isNotObtained, type MethodKey } from './method-key.js';

/** The options of a locked method: those of an acquisition, and what a decorator adds. */
export interface LockedOptions extends Omit<LockOptions, 'signal'> {
  /**
   * What a call does that does not get the lock: throw LockBusyError or LockTimeoutError, or return undefined without
   * having run.
   * @default 'throw'
   */
  onBusy?: 'throw' | 'skip';
  /**
   * What the method returns, where that cannot be seen: an async generator and a method whose declared type is
   * Observable are known.
   * @default 'promise'
   */
  returns?: ReturnKind;
}

type Lockable = PromiseLike<unknown> | Observable<unknown> | AsyncIterable<unknown>;

/** Whether options may say `onBusy: 'skip'`. */
type MaySkip<Options> = 'onBusy' extends keyof Options ? ('skip' extends Options['onBusy'] ? true : false) : false;

/** A call that is skipped gives undefined, so the method's type must allow it. */
type SkipAllowed<Result, Options> =
  MaySkip<Options> extends true
    ? Result extends PromiseLike<infer Value>
      ? undefined extends Value
        ? unknown
        : { "onBusy: 'skip' gives undefined, which this method's type does not allow": never }
      : unknown
    : unknown;

/** What the key function asks for must be what the method is called with. */
type ArgumentsMatch<Given extends unknown[], Asked extends unknown[]> = Given extends [...Asked, ...unknown[]]
  ? unknown
  : { 'the parameters of the key function are not those of the method': Given };

/** A decorator over a method that returns a promise, an Observable or an async iterable. */
export type LockedDecorator<Args extends unknown[], Options> = <M extends (...args: never[]) => Lockable>(
  target: object,
  name: string | symbol,
  descriptor: TypedPropertyDescriptor<M> & SkipAllowed<ReturnType<M>, Options> & ArgumentsMatch<Parameters<M>, Args>,
) => void;

/**
 * Runs every call of the method under a lock, on all nodes together. The lock is held until the promise settles, the
 * Observable or the iterable ends. A call inside the same lock enters it.
 *
 * @param key a template of the method's parameters: `order:<userId>:<dto.voucherId>`, `<0.id>` by position, `<id:int>`
 * for canonical integers, `<<` for a literal `<`; or a function of its arguments. A template without placeholders locks
 * for everybody.
 * @throws LockArgumentError when the class is defined and the template, an option or a parameter's name is wrong; a
 * call throws what `LockService.run` throws.
 * @example
 * ```ts
 * @Locked('order:<userId>:<voucherId>', { wait: '2s' })
 * async buy(userId: number, voucherId: number): Promise<Order> { … }
 *
 * @Locked((order: Order) => lockKey`order:${order.id}`, { ttl: '1m' })
 * async ship(order: Order): Promise<void> { … }
 * ```
 */
export function Locked<Args extends unknown[] = never, const Options extends LockedOptions = Record<never, never>>(
  key: MethodKey<Args>,
  options?: Options,
): LockedDecorator<[Args] extends [never] ? [] : Args, Options> {
  return (target, name, descriptor) => {
    const method = unwrapped(methodOf('Locked', target, name, descriptor));
    const where = `@Locked on ${nameOf(target)}.${String(name)}`;
    const {
      onBusy = 'throw',
      returns,
      ...lockOptions
    } = checkOptions(options === undefined ? {} : options, where, ['onBusy', 'returns']);
    const keyOf = compileMethodKey(key as MethodKey, method, where);
    const kind = returnKindOf(method, Reflect.getMetadata('design:returntype', target, name), returns);
    replaceMethod(target, name, descriptor, (locks, call, args) =>
      invoke(kind, {
        locks,
        onLost: lockOptions.onLost,
        call,
        method: `${nameOf(target)}.${String(name)}`,
        obtain: async (signal) => {
          try {
            return await locks.acquire(keyOf(args), signal ? { ...lockOptions, signal } : lockOptions);
          } catch (error) {
            if (onBusy === 'skip' && isNotObtained(error)) return undefined;
            throw error;
          }
        },
      }),
    );
  };
}

/**
 * Checks the options of a decorator; `extra` are those that it has beside the options of a lock.
 * @throws LockArgumentError
 */
export function checkOptions(options: LockedOptions, where: string, extra: readonly string[]): LockedOptions {
  // A function is asked at the calls: when the class is defined, it may not know yet.
  const permits = typeof options?.permits === 'function' ? MAX_PERMITS : options?.permits;
  resolveLockSettings(permits === undefined ? options : { ...options, permits }, FACTORY_SETTINGS, where, extra);
  if ('signal' in options)
    throw new LockArgumentError(`${where}: option "signal" belongs to one call; use LockService.run.`, where);
  checkChoice(options.onBusy, 'onBusy', ['throw', 'skip'], where);
  checkChoice(options.returns, 'returns', ['promise', 'observable', 'iterable'], where);
  return { ...options };
}

function checkChoice(value: unknown, option: string, choices: readonly string[], where: string): void {
  if (value === undefined || choices.includes(value as string)) return;
  throw new LockArgumentError(
    `${where}: option "${option}" is ${inspect(value, { depth: 0 })}, but must be ${choices.map((c) => `'${c}'`).join(' or ')}.`,
    where,
  );
}
