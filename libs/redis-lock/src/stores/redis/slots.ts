import hashSlot from 'cluster-key-slot';

const tags: string[] = [];
let tried = 0;

/** The hash slot of a key in a Cluster. */
export function slotOf(key: string): number {
  return hashSlot(key);
}

/** The hash tag that stands for a slot of a Cluster: the smallest number, in base 36, that is hashed to it. */
export function tagOf(slot: number): string {
  for (;;) {
    const known = tags[slot];
    if (known !== undefined) return known;
    const tag = (tried++).toString(36);
    tags[slotOf(tag)] ??= tag;
  }
}
