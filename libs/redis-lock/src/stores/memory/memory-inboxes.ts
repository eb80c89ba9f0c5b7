import { runOutsideScopes } from '../../lock/scope.js';
import type { Grant, GrantInbox, GrantListener } from '../lock-store.js';

/** The open inboxes of the clients of one store. What they are told comes later, as it does through a network. */
export class MemoryInboxes {
  private readonly listeners = new Map<string, GrantListener>();

  inbox(instance: string, listener: GrantListener): GrantInbox {
    return {
      usable: true,
      generation: 0,
      open: () => {
        this.listeners.set(instance, listener);
        this.later(instance, (open) => open.opened());
      },
      close: async () => {
        if (this.listeners.get(instance) === listener) this.listeners.delete(instance);
      },
    };
  }

  /** Whether what is granted to a member can be told. */
  isOpen(member: string): boolean {
    return this.listeners.has(instanceOf(member));
  }

  tell(grant: Grant): void {
    this.later(instanceOf(grant.member), (open) => open.granted(grant));
  }

  clear(): void {
    this.listeners.clear();
  }

  /** The work of a listener does not belong to the lock under which the caller runs. */
  private later(instance: string, tell: (listener: GrantListener) => void): void {
    runOutsideScopes(() =>
      setImmediate(() => {
        const listener = this.listeners.get(instance);
        if (listener) tell(listener);
      }),
    );
  }
}

/** The client of a member: all before the last `#`. */
export function instanceOf(member: string): string {
  const end = member.lastIndexOf('#');
  return end < 0 ? member : member.slice(0, end);
}
