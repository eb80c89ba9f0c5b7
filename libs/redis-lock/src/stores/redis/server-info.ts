/** The oldest one in which the `SET … GET` of the scripts works. */
const NEEDED = { major: 6, minor: 2 };

/**
 * Why a server is too old for the scripts, by what it answers to INFO. Undefined if it is not, or does not say: others
 * that speak its language name the Redis that they are like.
 */
export function whyTooOld(info: string): string | undefined {
  const [, version, major, minor] = /^redis_version:((\d+)\.(\d+)\S*)/m.exec(info) ?? [];
  if (version === undefined) return undefined;
  if (Number(major) > NEEDED.major || (Number(major) === NEEDED.major && Number(minor) >= NEEDED.minor))
    return undefined;
  return `Redis ${version} is too old: ${NEEDED.major}.${NEEDED.minor} or later is needed`;
}

/** How a server evicts keys when its memory is full, locks among them, by what it answers to INFO; undefined if it does not. */
export function evictionPolicyOf(info: string): string | undefined {
  const policy = /maxmemory_policy:(\S+)/.exec(info)?.[1];
  return policy === 'noeviction' || /maxmemory:0\b/.test(info) ? undefined : policy;
}
