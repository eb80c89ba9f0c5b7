import type { Redis } from 'ioredis';
import { runOutsideScopes } from '../../lock/scope.js';
import { setPatientTimeout } from '../../lock/timeout.js';

/**
 * Ends a connection on which answers are due and nothing arrives for too long: the other end is gone, and nobody has
 * told. What has arrived while the event loop was blocked counts; the timer of ioredis does not see that.
 */
export class SilenceWatch {
  private due = 0;
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly redis: Redis,
    private readonly limitMs: number,
  ) {
    redis.on('close', () => this.reset());
  }

  /** A command was sent. */
  asked(): void {
    if (this.due++ === 0) this.listen();
  }

  /** Its answer is there, or will never come. */
  answered(): void {
    if (this.due > 0 && --this.due === 0) this.reset();
  }

  private listen(): void {
    const { stream } = this.redis;
    const heard = stream.bytesRead;
    runOutsideScopes(() => {
      this.timer = setPatientTimeout(() => {
        if (this.due === 0 || this.redis.stream !== stream) return;
        if (stream.bytesRead > heard) this.listen();
        else stream.destroy(new Error(`No answer for ${this.limitMs} ms`));
      }, this.limitMs);
    });
  }

  private reset(): void {
    this.due = 0;
    clearTimeout(this.timer);
  }
}
