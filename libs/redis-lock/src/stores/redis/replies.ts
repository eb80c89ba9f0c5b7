import type { AcquiredReply, HeldReply, QueuePlace } from '../lock-store.js';
import { REST_FIELD } from './scripts/shared.js';

/** What a member is told that does not own the lock; the last three if it is in the queue. `listeners` is -1 if unknown. */
export type HeldAnswer = [
  status: 'held',
  field: string,
  remainingMs: number,
  queued: number,
  arrival?: string,
  rejoined?: 0 | 1,
  listeners?: number,
];

export function acquiredReply(token: string, remainingMs: number, granted?: 1): AcquiredReply {
  return { status: 'acquired', token: Number(token), remainingMs, ...(granted ? { granted: true } : {}) };
}

/** The same of a lock with shares: one of its holders, and the highest number that was given out. */
export type SharedHeldAnswer = [
  status: 'held',
  name: string,
  remainingMs: number,
  queued: number,
  highest: string,
  arrival?: string,
  rejoined?: 0 | 1,
  listeners?: number,
];

export function sharedHeldReply([status, name, remainingMs, queued, highest, ...place]: SharedHeldAnswer): HeldReply {
  const field = name.replace(/\*\d+$/, '');
  return { ...heldReply([status, field, remainingMs, queued, ...place]), token: Number(highest) };
}

/** Reads the field of a hold, `<member>/<token>`, and the place of who asked. */
export function heldReply([, field, remainingMs, queued, arrival, rejoined, listeners = -1]: HeldAnswer): HeldReply {
  const held = { status: 'held', remainingMs, queued } as const;
  const place: QueuePlace | undefined =
    arrival === undefined
      ? undefined
      : {
          arrival: Number(arrival),
          rejoined: rejoined === 1,
          listening: listeners < 0 ? undefined : listeners > 0,
        };
  return { ...held, ...holderOf(field), ...(place ? { place } : {}) };
}

function holderOf(field: string): Pick<HeldReply, 'holder' | 'token' | 'heldSince'> {
  if (field === REST_FIELD || field.startsWith(`${REST_FIELD}#`))
    return { holder: 'minHold', token: 0, heldSince: undefined };
  const [, member, digits] = /^(.+)\/(\d{1,16})$/s.exec(field) ?? [];
  // A hash of somebody else stands where the lock would be: it is as good as held, by we do not know whom.
  if (!member) return { holder: field, token: 0, heldSince: undefined };
  const token = Number(digits);
  return { holder: member, token, heldSince: Math.floor(token / 1000) };
}
