import { LockUnavailableError, OTHER_KIND } from '../../lock/lock.errors.js';

/** One kind of answer: how its text begins, what it means and what to do, and what follows from it. */
interface Answer {
  readonly begins: RegExp;
  readonly means: string;
  /** It passes by itself. */
  readonly retryable: boolean;
  /** A script may have been carried out in part. */
  readonly mayHaveRun: boolean;
}

const passing = (begins: RegExp, means: string): Answer => ({ begins, means, retryable: true, mayHaveRun: false });
const lasting = (begins: RegExp, means: string): Answer => ({ begins, means, retryable: false, mayHaveRun: true });

const ANSWERS: readonly Answer[] = [
  passing(/^LOADING /, 'Redis is still loading its data'),
  passing(/^BUSY /, 'Redis is busy with a script that does not end'),
  passing(/^READONLY /, 'this Redis is a replica; connect to the master'),
  passing(/^MASTERDOWN /, 'Redis lost its master'),
  passing(/^NOREPLICAS /, 'Redis refuses writes because too few replicas are connected'),
  passing(/^OOM /, 'Redis is out of memory; raise maxmemory'),
  passing(/^MISCONF /, 'Redis refuses writes because it cannot save its data'),
  passing(
    /^CLUSTERDOWN /,
    'the Cluster does not serve the slot of this key now; if that does not pass, see what redis-cli --cluster check says',
  ),
  passing(/^TRYAGAIN /, 'the slot of this key is moving to another node of the Cluster'),
  {
    // It deleted a key and went on with it, which the node that gives the slot away does not allow.
    ...passing(/^ERR Script attempted to access a non local key/, 'the slot of this key moved while a script ran'),
    mayHaveRun: true,
  },
  {
    ...lasting(
      /^(MOVED|ASK|CROSSSLOT) /,
      'this Redis is a node of a Cluster; connect to it as a Cluster (see docs/topologies.md)',
    ),
    mayHaveRun: false,
  },
  lasting(
    /^(NOPERM |ERR The user executing the script can't )/,
    'the user of this connection lacks a permission; see the ACL in the README',
  ),
  lasting(/^(NOAUTH|WRONGPASS) /, 'Redis refuses the password of this connection'),
  lasting(/^WRONGTYPE /, OTHER_KIND),
  lasting(/^[A-Z]+ /, 'Redis refused the command'),
];

/** Turns what a command was rejected with into the error of this library, with the original as its cause. */
export function toUnavailable(key: string, error: unknown): LockUnavailableError {
  if (error instanceof LockUnavailableError) return error;
  const text = error instanceof Error ? error.message : String(error);
  const answer = ANSWERS.find(({ begins }) => begins.test(text));
  if (!answer) return new LockUnavailableError(key, `Redis is out of reach (${text})`, { cause: error });
  const { means, retryable, mayHaveRun } = answer;
  return new LockUnavailableError(key, `${means} (${text})`, { cause: error, retryable, mayHaveRun });
}
