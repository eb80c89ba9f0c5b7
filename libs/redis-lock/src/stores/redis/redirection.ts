import { LockUnavailableError } from '../../lock/lock.errors.js';

/** What a node of a Cluster answers to a command that it did not carry out, as something else may. */
export interface Redirection {
  readonly kind: 'MOVED' | 'ASK' | 'TRYAGAIN' | 'CLUSTERDOWN';
  /** `<host>:<port>` of the node that has the slot, or is getting it; undefined when it did not say. */
  readonly address: string | undefined;
}

/** Undefined for an error that is none. */
export function redirectionOf(error: unknown): Redirection | undefined {
  const cause = error instanceof LockUnavailableError ? error.cause : error;
  if (!(cause instanceof Error)) return undefined;
  const [, kind, address] = /^(MOVED|ASK|TRYAGAIN|CLUSTERDOWN)\b(?: \d+ (\S+:\d+))?/.exec(cause.message) ?? [];
  if (!kind) return undefined;
  return { kind: kind as Redirection['kind'], address: address?.startsWith(':') ? undefined : address };
}
