/** A moment on both clocks of this machine. */
export interface Moment {
  readonly monotonic: number;
  readonly wall: number;
}

export function now(): Moment {
  return { monotonic: performance.now(), wall: Date.now() };
}

/**
 * How many ms have passed since a moment, by the larger of the monotonic and the wall clock: the monotonic clock of
 * Linux stops while a virtual machine is suspended, and the wall clock may be set back.
 */
export function elapsedSince(moment: Moment): number {
  return Math.max(performance.now() - moment.monotonic, Date.now() - moment.wall);
}

/** Drift that is allowed for between this machine's clock and the server's, in ms: 1 % of the lease and 2 ms. */
export function driftOf(leaseMs: number): number {
  return leaseMs * 0.01 + 2;
}
