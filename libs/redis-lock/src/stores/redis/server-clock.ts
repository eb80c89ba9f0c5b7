/**
 * Maps moments of this process to the clock of the server, in µs. The mapping errs late by at most one round trip: only
 * the refusal of commands that come far too late rests on it.
 */
export class ServerClock {
  private offsetUs: number | undefined;

  /** The server said `serverTimeUs` in answer to a command that was sent at `sent` (ms of the monotonic clock). */
  learn(serverTimeUs: number, sent: number): void {
    this.offsetUs = serverTimeUs - sent * 1000;
  }

  /** The server's time in `ms` from now; without an answer yet, this machine's wall clock has to do. */
  in(ms: number): number {
    const base = this.offsetUs === undefined ? Date.now() * 1000 : performance.now() * 1000 + this.offsetUs;
    return Math.round(base + ms * 1000);
  }
}
