/** The lease of every lock of the benchmark: the default of this library, and long enough to end in no round. */
export const ttlMs = 30_000;
