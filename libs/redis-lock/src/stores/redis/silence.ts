import type { Redis } from 'ioredis';
import { runOutsideScopes } from '../../lock/scope.js';
import { setPatientTimeout } from '../../lock/timeout.js';

/**
 * Ends a connection on which answers are due and nothing arrives for too long: the other end is gone, and nobody has
 * told. What has arrived while the event loop was blocked counts; the timer of ioredis does not see that. The timer is
 * not cleared with the last answer: it does not keep the process alive, and ends by itself.
 */
export class SilenceWatch {
  private due = 0;
  /** Since when at least one answer is due, in ms of the monotonic clock. */
  private since = 0;
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly redis: Redis,
    private readonly limitMs: number,
  ) {
    redis.on('close', () => this.reset());
  }

  /** How many commands are not answered. */
  get unanswered(): number {
    return this.due;
  }

  /** A command was sent. */
  asked(): void {
    if (this.due++ === 0) this.since = performance.now();
    if (!this.timer) this.listen(this.limitMs);
  }

  /** Its answer is there, or will never come. */
  answered(): void {
    if (this.due > 0) this.due--;
  }

  private listen(ms: number): void {
    const { stream } = this.redis;
    const { bytesRead } = stream;
    runOutsideScopes(() => {
      this.timer = setPatientTimeout(() => {
        this.timer = undefined;
        if (this.due === 0 || this.redis.stream !== stream) return;
        const left = this.limitMs - (performance.now() - this.since);
        if (stream.bytesRead > bytesRead) this.listen(this.limitMs);
        else if (left > 0) this.listen(left);
        else stream.destroy(new Error(`No answer for ${this.limitMs} ms`));
      }, ms).unref();
    });
  }

  private reset(): void {
    this.due = 0;
    clearTimeout(this.timer);
    this.timer = undefined;
  }
}
