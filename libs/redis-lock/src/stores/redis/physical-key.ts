/** The first non-empty `{…}` of a key: the part that Redis Cluster hashes. */
const HASH_TAG = /\{([^{}]+)\}/;

/**
 * The name of a lock in Redis: `<prefix>:{<key>}`. A `{tag}` in the key stays the hash tag, and the outer opening brace
 * is then left out; every other brace is escaped with a backslash, so that all names of one lock share a slot whatever
 * the key is, and no two keys share a name.
 */
export function physicalKey(prefix: string, key: string): string {
  const tag = HASH_TAG.exec(key);
  if (!tag) return `${prefix}:{${escape(key)}}`;
  return `${prefix}:${escape(key.slice(0, tag.index))}${tag[0]}${escape(key.slice(tag.index + tag[0].length))}}`;
}

export function fenceKey(prefix: string): string {
  return `${prefix}:fence`;
}

function escape(text: string): string {
  return text.replace(/[\\{}]/g, (char) => ({ '\\': '\\\\', '{': '\\(' })[char] ?? '\\)');
}
