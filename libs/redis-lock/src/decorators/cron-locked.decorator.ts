import type { LockHandle } from '../lock/lock-handle.js';
import { LockKey } from '../lock/lock-key.js';
import { isLockError, type LockError } from '../lock/lock.errors.js';
import type { LockService } from '../module/lock.service.js';
import { invoke } from './locked-kinds.js';
import { methodOf, nameOf, replaceMethod } from './locked-method.js';
import { checkOptions, type LockedDecorator, type LockedOptions } from './locked.decorator.js';

/** The options of a scheduled task. */
export type CronLockedOptions = Omit<LockedOptions, 'onBusy' | 'returns' | 'reentrant'>;

/** What the keys of scheduled tasks begin with. */
const PREFIX = 'scheduler:';

/**
 * Lets one node run a scheduled task and the others skip it quietly: they say so in a `skipped` event. Redis out of
 * reach means that no node runs it (fail closed), which is warned of. It stands above or below `@Cron`, `@Interval` or
 * `@Timeout`.
 *
 * Give a `minHold` shorter than the period and longer than the clocks of your nodes are apart: a short task has ended
 * before the slower node asks, and would run again.
 *
 * @param name the task; its key is `scheduler:<name>`.
 * @param options `wait` is 0: one attempt.
 * @throws LockArgumentError when the class is defined and an option is wrong.
 * @example
 * ```ts
 * @Cron('0 2 * * *')
 * @CronLocked('nightly-report', { minHold: '1m', maxHold: '30m' })
 * async report(): Promise<void> { … }
 * ```
 */
export function CronLocked(name: string, options: CronLockedOptions = {}): LockedDecorator<[], { onBusy: 'skip' }> {
  return (target, property, descriptor) => {
    methodOf('CronLocked', target, property, descriptor);
    const where = `@CronLocked on ${nameOf(target)}.${String(property)}`;
    const key = LockKey.of(PREFIX + LockKey.of(name).text);
    const lockOptions = { ...checkOptions(options, where, []), wait: options.wait ?? 0 };
    const method = `${nameOf(target)}.${String(property)}`;
    replaceMethod(target, property, descriptor, (locks, call) =>
      invoke('promise', {
        locks,
        onLost: lockOptions.onLost,
        call,
        method,
        obtain: async () => obtainOrSkip(locks, key, lockOptions, method),
      }),
    );
  };
}

async function obtainOrSkip(
  locks: LockService,
  key: LockKey,
  options: CronLockedOptions,
  method: string,
): Promise<LockHandle | undefined> {
  try {
    return await locks.acquire(key, options);
  } catch (error) {
    if (!isLockError(error) || !isReasonToSkip(error)) throw error;
    if (error.code === 'LOCK_UNAVAILABLE')
      locks.logger.warn(
        `${method} was skipped, because nobody can tell whether another node runs it. ${error.message}`,
      );
    locks.events.tell('skipped', { key: key.text, template: key.template, code: error.code });
    return undefined;
  }
}

function isReasonToSkip({ code }: LockError): boolean {
  return code === 'LOCK_BUSY' || code === 'LOCK_TIMEOUT' || code === 'LOCK_UNAVAILABLE' || code === 'LOCK_SHUTDOWN';
}
