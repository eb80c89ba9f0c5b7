import type { AcquireReply } from '../stores/lock-store.js';
import { now, type Moment } from './clock.js';
import type { GiveBack } from './give-back.js';
import { LockUnavailableError } from './lock.errors.js';

/** One command of a contender. */
export interface Attempt {
  readonly member: string;
  readonly stillWanted: () => boolean;
  /** When the command left, or when it was made as long as it has not. */
  sentAt: Moment;
  sent: boolean;
}

/** The attempts of one contender: which of them may have taken the lock without our knowing. */
export class Attempts {
  private member: string;
  private abandoned = false;
  private open = 0;
  private uncertain = false;

  constructor(
    private readonly giveBack: GiveBack,
    private readonly newMember: () => string,
    private readonly wanted: { readonly key: string; readonly leaseMs: number },
  ) {
    this.member = newMember();
  }

  begin(): Attempt {
    const { member } = this;
    const attempt: Attempt = {
      member,
      sentAt: now(),
      sent: false,
      stillWanted: () => {
        if (this.abandoned || member !== this.member) return false;
        if (!attempt.sent) this.open++;
        attempt.sent = true;
        attempt.sentAt = now();
        return true;
      },
    };
    return attempt;
  }

  /** Follows an answer to its end, however late: nobody else does once the contender has left. */
  follow(answer: Promise<AcquireReply>, attempt: Attempt): void {
    answer.then(
      ({ status }) => {
        if (attempt.sent) this.open--;
        const wanted = !this.abandoned && attempt.member === this.member;
        if (status === 'acquired' && !wanted) this.leave(attempt.member);
      },
      (error: unknown) => {
        if (attempt.sent) this.open--;
        if (!(error instanceof LockUnavailableError) || error.mayHaveRun) this.uncertain = true;
      },
    );
  }

  /** The member is of no use any more: what it has is given back, and the next attempt has a new one. */
  renewMember(): void {
    this.leave(this.member);
    this.member = this.newMember();
  }

  /** The contender leaves without a lock. */
  abandon(): void {
    this.abandoned = true;
    if (this.open > 0 || this.uncertain) this.leave(this.member);
  }

  private leave(member: string): void {
    this.giveBack.add({ ...this.wanted, member, minHoldMs: 0 });
  }
}
