import type { Share } from '../stores/lock-store.js';
import { OTHER_KIND } from './lock.errors.js';

/** The most permits that a semaphore may have. */
export const MAX_PERMITS = 1_000_000;

/** More readers than there can be. A writer takes them all. */
const READERS = 1_000_000_000;

/** What a reader has of a read/write lock. */
export const READER: Share = { permits: 1, limit: READERS };

/** What a writer has of it. */
export const WRITER: Share = { permits: READERS, limit: READERS };

/** Whether whoever has one share has the other as well; undefined is the whole lock. */
export function covers(held: Share | undefined, wanted: Share | undefined): boolean {
  if (!held || !wanted) return held === wanted;
  return isReadWrite(held) === isReadWrite(wanted) && held.permits >= wanted.permits;
}

/** Why somebody inside of one share would wait for another one of the same lock for ever; undefined: that is not so. */
export function whyNever(held: Share | undefined, wanted: Share | undefined): string | undefined {
  if (!held || !wanted || isReadWrite(held) !== isReadWrite(wanted)) return OTHER_KIND;
  if (isWriter(wanted)) {
    return (
      'a reader cannot become a writer: it would wait until it has left itself, and two that try would wait for each ' +
      'other. Leave the read lock first, or take the write lock from the start, which may read and can be downgraded'
    );
  }
  if (held.permits + wanted.permits <= wanted.limit) return undefined;
  return (
    `it takes ${wanted.permits} permits more inside of ${held.permits}, and there are only ${wanted.limit}. Take them ` +
    'all at once with "take"'
  );
}

function isReadWrite(share: Share): boolean {
  return share.limit === READERS;
}

export function isWriter(share: Share | undefined): boolean {
  return share?.permits === READERS;
}
