/**
 * The version of the layout: the names here, the fields and numbers that the scripts write, members, and messages to
 * inboxes. Processes of the same layout exclude each other whatever version of the library they run; a change that the
 * scripts before it do not understand raises it, and is no minor version. test/rolling-upgrade keeps the scripts of 0.1.
 */
export const LAYOUT_VERSION = 1;

/** The first non-empty `{…}` of a key: the part that Redis Cluster hashes. */
const HASH_TAG = /\{([^{}]+)\}/;

const SPECIAL = /[\\{}]/;

/**
 * The name of a lock in Redis: `<prefix>:{<key>}`. A key that brings its own `{tag}` is hashed by that:
 * `<prefix>:{tag}<key>}`. Every other brace is escaped with a backslash, so that all names of one lock share a slot
 * whatever the key is, and no two keys or prefixes share a name.
 */
export function physicalKey(prefix: string, key: string): string {
  if (!SPECIAL.test(key)) return `${prefix}:{${key}}`;
  const tag = HASH_TAG.exec(key)?.[0];
  return `${prefix}:${tag ?? '{'}${escape(key)}}`;
}

/** The key of the user in the name of its lock. */
export function keyOf(prefix: string, name: string): string {
  const [, , key = ''] = /^\{([^}]*)\}(.+)\}$/s.exec(name.slice(prefix.length + 1)) ?? [
    '',
    '',
    name.slice(prefix.length + 2, -1),
  ];
  return key.replace(/\\(.)/gs, (_, char: string) => ({ '(': '{', ')': '}' })[char] ?? char);
}

/** The members that wait for a lock. */
export function queueKey(lock: string): string {
  return `${lock}:queue`;
}

/** The holders and waiting members of a lock with shares: what each of them has, or wants. */
export function membersKey(lock: string): string {
  return `${lock}:members`;
}

/** What the channel of every inbox begins with; the instance follows. */
export function inboxPrefix(prefix: string): string {
  return `${prefix}:inbox:`;
}

/** The counter of the fencing tokens. */
export function fenceKey(prefix: string): string {
  return `${prefix}:fence`;
}

/** In a Cluster there is one for each slot, under a tag that stands for it. */
export function clusterFenceKey(prefix: string, slotTag: string): string {
  return `${fenceKey(prefix)}:{${slotTag}}`;
}

function escape(text: string): string {
  return text.replace(/[\\{}]/g, (char) => ({ '\\': '\\\\', '{': '\\(' })[char] ?? '\\)');
}
