/**
 * The leases that callers ask for, in ms: shorter than any failover takes, so that a lock which the new master has never
 * heard of is over before it gives out another one.
 */
export const LEASES_MS = [500, 900];

export const LONGEST_LEASE_MS = Math.max(...LEASES_MS);

/** The plain locks. */
export const PLAIN = { order: 'plain', stock: 'plain' };

/** The locks that several may hold. */
export const SHARED = { pool: 'semaphore', catalogue: 'read/write' };
