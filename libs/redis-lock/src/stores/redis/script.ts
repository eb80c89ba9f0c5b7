import { createHash } from 'node:crypto';

/** A Lua script with its digest; `Args` is the tuple that its ARGV takes, `Reply` what it answers. */
export interface Script<Args extends readonly (string | number)[], Reply> {
  readonly name: string;
  readonly lua: string;
  readonly sha: string;
  /** How many of the arguments are KEYS. */
  readonly keys: number;
  /** Carries the types; never set. */
  readonly types?: { readonly args: Args; readonly reply: Reply };
}

export function defineScript<Args extends readonly (string | number)[], Reply>(
  name: string,
  keys: number,
  lua: string,
): Script<Args, Reply> {
  return { name, lua, keys, sha: createHash('sha1').update(lua).digest('hex') };
}
