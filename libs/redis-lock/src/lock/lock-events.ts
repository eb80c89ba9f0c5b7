import { EventEmitter } from 'node:events';
import type { LockErrorCode, LockLossReason } from './lock.errors.js';

interface LockEvent {
  readonly key: string;
  /** The key without its values (`order:<>:<>`): fit for the label of a metric. */
  readonly template: string;
}

/** What a client tells while it works, by name; each listener gets one object. */
export interface LockEvents {
  acquired: [LockEvent & { readonly fencingToken: number; readonly waitedMs: number }];
  /** Given back by its holder; `kept` while `minHold` is not over, `unknown` when Redis did not answer in time. */
  released: [
    LockEvent & {
      readonly fencingToken: number;
      readonly heldMs: number;
      readonly outcome: 'released' | 'kept' | 'unknown';
    },
  ];
  /** The lock ended before its holder released it. */
  lost: [
    LockEvent & {
      readonly fencingToken: number;
      readonly heldMs: number;
      readonly reason: LockLossReason;
      readonly cause: unknown;
    },
  ];
  /** An acquisition ended without a lock; `code` says why. */
  refused: [LockEvent & { readonly code: LockErrorCode; readonly waitedMs: number }];
  /** A `@CronLocked` run was left to another node, or left out because Redis could not be asked. */
  skipped: [LockEvent & { readonly code: LockErrorCode }];
  /** A renewal failed; it is tried again until `remainingMs` are over. Nothing is lost yet. */
  renewalFailed: [LockEvent & { readonly fencingToken: number; readonly remainingMs: number; readonly cause: unknown }];
  /** A lock without `maxHold` has been held for a minute: long work, or a body that never returns. */
  heldLong: [LockEvent & { readonly fencingToken: number; readonly heldMs: number }];
}

/** Where warnings go. Nest's `Logger` is one. */
export interface LockLogger {
  warn(message: string): void;
}

/** Says it once a process and text, on stderr, as Node's own warnings. */
export const processWarnings: LockLogger = {
  warn: (message) => process.emitWarning(message, 'LockWarning'),
};

/** A typed emitter whose listeners cannot break a lock: what one throws is logged, and the next one is still called. */
export class LockEventEmitter extends EventEmitter<LockEvents> {
  constructor(private readonly logger: LockLogger) {
    super();
  }

  /** @internal */
  tell<Name extends keyof LockEvents>(name: Name, event: LockEvents[Name][0]): void {
    for (const listener of this.rawListeners(name)) {
      try {
        const result: unknown = Reflect.apply(listener, this, [event]);
        if (result instanceof Promise) result.catch((error: unknown) => this.complain(name, error));
      } catch (error) {
        this.complain(name, error);
      }
    }
  }

  private complain(name: string, error: unknown): void {
    this.logger.warn(
      `A listener of the lock event "${name}" threw: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`,
    );
  }
}
