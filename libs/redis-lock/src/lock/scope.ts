import { AsyncLocalStorage } from 'node:async_hooks';
import { Gate } from './gate.js';
import type { Hold, HoldOwner } from './hold.js';
import type { LockHandle } from './lock-handle.js';

/**
 * One entry into a hold. Scopes nest as the calls do: a call inside a running scope enters the same hold, calls side by
 * side in one scope take turns at its gate, and the hold is given back when its last scope has ended.
 */
export class LockScope {
  running = true;
  private gate: Gate | undefined;
  handle!: LockHandle;

  constructor(
    readonly hold: Hold,
    /** The scope of the same hold through which this one came in. */
    readonly through: LockScope | undefined,
  ) {}

  /** Calls that enter the hold from within this scope take turns here. */
  get inner(): Gate {
    return (this.gate ??= new Gate());
  }
}

/** One scope around running code, and what was around it when it was entered there. */
interface Frame {
  readonly scope: LockScope;
  readonly outer: Frame | undefined;
}

const storage = new AsyncLocalStorage<Frame>();

/** The innermost frame whose scope is still running. Ended ones are passed over, so that no chain of them can grow. */
function runningFrame(): Frame | undefined {
  let frame = storage.getStore();
  while (frame && !frame.scope.running) frame = frame.outer;
  return frame;
}

/** The nearest running scope around the caller that satisfies a condition. */
export function findScope(matches: (scope: LockScope) => boolean): LockScope | undefined {
  for (let frame = storage.getStore(); frame; frame = frame.outer) {
    if (frame.scope.running && matches(frame.scope)) return frame.scope;
  }
  return undefined;
}

/** Whether the caller runs inside a lock of this owner. */
export function isInsideLockOf(owner: HoldOwner): boolean {
  return findScope((scope) => scope.hold.owner === owner) !== undefined;
}

/** Runs work inside a scope, and inside of those that are around the caller. */
export function runInScope<T>(scope: LockScope, work: () => T): T {
  return storage.run({ scope, outer: runningFrame() }, work);
}

/** Runs what must not belong to the caller: timers and sockets that outlive it. */
export function runOutsideScopes<T>(work: () => T): T {
  // `exit` would switch the tracking of contexts off and on again.
  return storage.getStore() ? storage.run(undefined as never, work) : work();
}
