import { RESERVED_TOKENS, type ReplicaDemand } from '../stores/lock-store.js';
import type { Hold } from './hold.js';
import type { LockSettings } from './lock-settings.js';

/** How long one process may pass a lock on within itself while others wait for it elsewhere, in ms. */
const HAND_OVER_MS = 50;

/**
 * Whether a holder may pass its lease on to a waiter of its own process without the store. Both must have asked for the
 * same lease and replicas, it must be renewed and not extended beyond that nor about to be, and neither may keep the key closed for a time; the bounds
 * let other processes in.
 */
export function mayHandOver({ lease, settings: from, minHoldMs, extending }: Hold, to: LockSettings): boolean {
  return (
    from.renew &&
    to.renew &&
    from.ttlMs === to.ttlMs &&
    isSameDemand(from.replicas, to.replicas) &&
    minHoldMs === 0 &&
    extending === 0 &&
    to.minHoldMs === 0 &&
    lease.handOvers < RESERVED_TOKENS &&
    performance.now() - lease.since < HAND_OVER_MS &&
    lease.remainingMs > lease.leaseMs / 2 &&
    (lease.leaseMs <= to.ttlMs || !lease.confirmed)
  );
}

export function isSameDemand(one: ReplicaDemand | undefined, other: ReplicaDemand | undefined): boolean {
  return one?.ack === other?.ack && one?.timeoutMs === other?.timeoutMs;
}
