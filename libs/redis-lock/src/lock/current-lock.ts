import { LockKey } from './lock-key.js';
import type { LockHandle } from './lock-handle.js';
import { LockArgumentError } from './lock.errors.js';
import { findScope } from './scope.js';

/**
 * The lock that the calling code runs under: the innermost one, or with a key the nearest one of that key.
 * @throws LockArgumentError outside of such a lock.
 */
export function currentLock(key?: string | LockKey): LockHandle {
  const text = key === undefined ? undefined : LockKey.of(key).text;
  const scope = findScope(({ hold }) => text === undefined || hold.key.text === text);
  if (scope) return scope.handle;
  throw new LockArgumentError(
    `currentLock(${text === undefined ? '' : JSON.stringify(text)}) was called outside of ${text === undefined ? 'any lock' : 'that lock'}: ` +
      'call it in a @Locked method, in the body of run, or in handle.run.',
    text ?? '',
  );
}
