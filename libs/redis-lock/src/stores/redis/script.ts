import { createHash } from 'node:crypto';

/** A Lua script with its digest; `Args` is the tuple that its ARGV takes, `read` makes a reply of what it answers. */
export interface Script<Args extends readonly unknown[], Reply> {
  readonly lua: string;
  readonly sha: string;
  readonly read: (answer: unknown) => Reply;
  /** Carries the type; never set. */
  readonly args?: Args;
}

export function defineScript<Args extends readonly unknown[], Answer, Reply>(
  lua: string,
  read: (answer: Answer) => Reply,
): Script<Args, Reply> {
  const sha = createHash('sha1').update(lua).digest('hex');
  return { lua, sha, read: read as (answer: unknown) => Reply };
}
