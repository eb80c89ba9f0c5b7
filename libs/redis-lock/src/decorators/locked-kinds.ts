import { isObservable, Observable, Subject, takeUntil, type Subscriber } from 'rxjs';
import { LockArgumentError } from '../lock/lock.errors.js';
import type { LockHandle } from '../lock/lock-handle.js';
import type { LockOptions } from '../lock/lock-options.js';
import type { LockService } from '../module/lock.service.js';
import type { Method } from './method-key.js';

/** What a method returns, known before it is called. */
export type ReturnKind = 'promise' | 'observable' | 'iterable';

/** One call of a locked method. */
export interface LockedInvocation {
  readonly locks: LockService;
  /** Gets the lock; undefined when it is not to be had and the call is to be skipped. */
  readonly obtain: (signal?: AbortSignal) => Promise<LockHandle | undefined>;
  readonly onLost: LockOptions['onLost'];
  readonly call: () => unknown;
  /** `OrderService.buy`, for messages. */
  readonly method: string;
}

/**
 * How the kind is known: an async generator by itself, an Observable by the metadata that TypeScript emits, everything
 * else by the option.
 */
export function returnKindOf(method: Method, designType: unknown, option: ReturnKind | undefined): ReturnKind {
  if (Object.prototype.toString.call(method) === '[object AsyncGeneratorFunction]') return 'iterable';
  return designType === Observable ? 'observable' : (option ?? 'promise');
}

export function invoke(kind: ReturnKind, invocation: LockedInvocation): unknown {
  if (kind === 'observable') return lockedObservable(invocation);
  return kind === 'iterable' ? lockedIterable(invocation) : lockedPromise(invocation);
}

async function lockedPromise({ locks, obtain, onLost, call, method }: LockedInvocation): Promise<unknown> {
  const lock = await obtain();
  if (!lock) return undefined;
  const work = (): PromiseLike<unknown> => {
    const result = call();
    if (isObservable(result) || !isThenable(result)) throw wrongKind(method, 'a promise', result);
    return result;
  };
  return locks.complete(lock, work, onLost);
}

/** Cold: each subscription acquires, calls and releases. */
function lockedObservable({ locks, obtain, onLost, call, method }: LockedInvocation): Observable<unknown> {
  return lockObservable(locks, obtain, onLost, () => {
    const result = call();
    if (!isObservable(result)) throw wrongKind(method, 'an Observable', result);
    return result;
  });
}

/**
 * An Observable that holds a lock from its subscription until it completes, fails or is unsubscribed.
 * @param end what happens to the lock at completion; default: it is released, and its loss is the error.
 */
export function lockObservable(
  locks: LockService,
  obtain: LockedInvocation['obtain'],
  onLost: LockOptions['onLost'],
  source: () => Observable<unknown>,
  end: (lock: LockHandle, last: unknown) => Promise<void> = async (lock, last) => locks.settle(lock, last, onLost),
): Observable<unknown> {
  return new Observable((subscriber) => {
    const leaving = new AbortController();
    subscriber.add(() => leaving.abort());
    obtain(leaving.signal).then(
      (lock) => {
        if (!lock) return subscriber.complete();
        let ended = false;
        subscriber.add(() => (ended ? undefined : void lock.release()));
        if (subscriber.closed) return;
        subscribeUnder(lock, subscriber, source, async (held, last) => {
          ended = true;
          await end(held, last);
        });
      },
      (error: unknown) => subscriber.error(error),
    );
  });
}

function subscribeUnder(
  lock: LockHandle,
  subscriber: Subscriber<unknown>,
  source: () => Observable<unknown>,
  end: (lock: LockHandle, last: unknown) => Promise<void>,
): void {
  const fail = (error: unknown): void => void lock.release().then(() => subscriber.error(error));
  // A source that does not pause must notice in the middle of its first run that nobody listens any more.
  const left = new Subject<void>();
  subscriber.add(() => left.next());
  let last: unknown;
  try {
    lock.run(() =>
      source()
        .pipe(takeUntil(left))
        .subscribe({
          next: (value) => {
            last = value;
            subscriber.next(value);
          },
          error: fail,
          complete: () => {
            if (subscriber.closed) return;
            end(lock, last).then(
              () => subscriber.complete(),
              (error: unknown) => subscriber.error(error),
            );
          },
        }),
    );
  } catch (error) {
    fail(error);
  }
}

/** Each iteration acquires at its first step and releases when it ends, fails or is left. */
async function* lockedIterable({ locks, obtain, onLost, call, method }: LockedInvocation): AsyncGenerator {
  const lock = await obtain();
  if (!lock) return;
  let done = false;
  try {
    const iterator = lock.run(() => iteratorOf(call(), method));
    // Each step runs inside the scope of the lock; what ends the delegation early is passed on to the iterator of the
    // method.
    yield* {
      [Symbol.asyncIterator]: () => ({
        next: async (value: unknown) => lock.inScope(async () => iterator.next(value)),
        return: async (value: unknown) => lock.inScope(async () => iterator.return?.(value) ?? { done: true, value }),
        throw: async (error: unknown) =>
          lock.inScope(async () => {
            if (!iterator.throw) throw error;
            return iterator.throw(error);
          }),
      }),
    };
    done = true;
  } finally {
    if (!done) await lock.release();
  }
  await locks.settle(lock, undefined, onLost);
}

function iteratorOf(result: unknown, method: string): AsyncIterator<unknown, unknown, unknown> {
  const iterable = result as Partial<AsyncIterable<unknown, unknown, unknown>> | null | undefined;
  if (typeof iterable?.[Symbol.asyncIterator] !== 'function') throw wrongKind(method, 'an async iterable', result);
  return (iterable as AsyncIterable<unknown, unknown, unknown>)[Symbol.asyncIterator]();
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as PromiseLike<unknown> | null | undefined)?.then === 'function';
}

function wrongKind(method: string, expected: string, result: unknown): LockArgumentError {
  const got = isObservable(result)
    ? "an Observable; set the option returns: 'observable'"
    : typeof (result as AsyncIterable<unknown> | null | undefined)?.[Symbol.asyncIterator] === 'function'
      ? "an async iterable; set the option returns: 'iterable'"
      : isThenable(result)
        ? "a promise; set the option returns: 'promise'"
        : 'a plain value, which leaves nothing to hold a lock for; make the method async, or set the option returns to what it returns';
  return new LockArgumentError(
    `${method} is locked as a method that returns ${expected}, but it returned ${got}.`,
    method,
  );
}
