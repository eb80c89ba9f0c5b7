import { POLL_CAP_MS } from '../stores/lock-store.js';
import type { Patience } from './patience.js';
import { runOutsideScopes } from './scope.js';

/** A question that is open for more than this part of the command timeout tells that the store is out of reach. */
export const UNREACHABLE = 0.5;

/** How long before a deadline the last question leaves, as a part of the command timeout: in time to be missed. */
const LATEST = 1.5 * UNREACHABLE;

/** Whose questions a timer repeats. */
export interface PollTimerOwner {
  /** Those who wait now. */
  patiences(): Iterable<Patience>;
  /** If not, whoever waits comes back by himself. */
  readonly canBeTold: boolean;
  ask(): void;
}

/** When those who wait for one key ask the store again because nobody has told them anything. One timer a key. */
export class PollTimer {
  private timer: NodeJS.Timeout | undefined;
  private at = Infinity;
  private askedAt = -Infinity;

  constructor(
    private readonly owner: PollTimerOwner,
    private readonly commandTimeoutMs: number,
  ) {}

  /** The store has answered that they wait; after `ms` the answer is old. */
  waits(ms: number): void {
    this.askedAt = performance.now();
    if (this.at === Infinity) this.schedule();
    this.by(this.askedAt + ms);
  }

  /** Somebody more waits. */
  joined(patience: Patience): void {
    if (this.at < Infinity) this.by(this.lastQuestionFor(patience));
  }

  stop(): void {
    clearTimeout(this.timer);
    this.at = Infinity;
  }

  private by(at: number): void {
    if (at >= this.at) return;
    clearTimeout(this.timer);
    this.at = at;
    runOutsideScopes(() => {
      this.timer = setTimeout(() => this.wake(), at - performance.now());
    });
  }

  /** Whatever becomes of the question, and of who asks it: another one follows. */
  private wake(): void {
    this.at = Infinity;
    if (!this.owner.canBeTold) return;
    this.askedAt = performance.now();
    this.schedule();
    this.owner.ask();
  }

  private schedule(): void {
    let at = this.askedAt + POLL_CAP_MS;
    for (const patience of this.owner.patiences()) at = Math.min(at, this.lastQuestionFor(patience));
    this.by(at);
  }

  /**
   * When to ask for the last time before a caller's deadline, so that it is known then whether the store is there; never
   * where the newest question is late enough for that, or the time too short to tell. As late as possible, so that one
   * question does for all whose deadlines are close.
   */
  private lastQuestionFor(patience: Patience): number {
    const beforeMs = Math.min(this.commandTimeoutMs, 0.6 * patience.limitMs);
    const deadline = performance.now() + patience.remainingMs;
    const isKnown = this.askedAt >= deadline - 1.05 * beforeMs;
    if (isKnown || beforeMs < 1.05 * UNREACHABLE * this.commandTimeoutMs) return Infinity;
    return deadline - Math.min(beforeMs, LATEST * this.commandTimeoutMs);
  }
}
