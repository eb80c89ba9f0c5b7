import { LockUnavailableError } from '../../lock/lock.errors.js';

/** What Redis answers → what it means and what to do; `retryable` where it passes by itself. */
const ANSWERS: readonly { starts: string; says: string; retryable: boolean }[] = [
  { starts: 'LOADING', says: 'Redis is still loading its data', retryable: true },
  { starts: 'BUSY', says: 'Redis is busy with a script that does not end', retryable: true },
  { starts: 'READONLY', says: 'this Redis is a replica; connect to the master', retryable: true },
  { starts: 'MASTERDOWN', says: 'Redis lost its master', retryable: true },
  { starts: 'NOREPLICAS', says: 'Redis refuses writes because too few replicas are connected', retryable: true },
  { starts: 'OOM', says: 'Redis is out of memory; raise maxmemory', retryable: true },
  { starts: 'MISCONF', says: 'Redis refuses writes because it cannot save its data', retryable: true },
  {
    starts: 'NOPERM',
    says: 'the user of this connection lacks a permission; see the ACL in the documentation',
    retryable: false,
  },
  { starts: 'NOAUTH', says: 'Redis asks for a password', retryable: false },
  {
    starts: 'WRONGTYPE',
    says: 'something else than a lock is stored under its name; choose another "prefix"',
    retryable: false,
  },
];

/** Turns what a command was rejected with into the error of this library, with the original as its cause. */
export function toUnavailable(key: string, error: unknown): LockUnavailableError {
  if (error instanceof LockUnavailableError) return error;
  const text = error instanceof Error ? error.message : String(error);
  // The error of a script is wrapped: "ERR Error running script …: @user_script:1: WRONGTYPE Operation …" or "NOPERM
  // …".
  const known = ANSWERS.find(
    ({ starts }) => text.startsWith(starts) || text.includes(`: ${starts} `) || text.includes(`-${starts} `),
  );
  if (known)
    return new LockUnavailableError(key, `${known.says} (${text})`, {
      cause: error,
      retryable: known.retryable,
      mayHaveRun: false,
    });
  const answered = /^(ERR|NOSCRIPT|[A-Z]+) /.test(text);
  return new LockUnavailableError(
    key,
    answered ? `Redis refused the command (${text})` : `Redis is out of reach (${text})`,
    {
      cause: error,
      retryable: !answered,
    },
  );
}
