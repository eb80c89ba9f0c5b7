import { runOutsideScopes } from '../../lock/scope.js';
import type { Grant, GrantInbox, GrantListener } from '../lock-store.js';
import { RedisGrantInbox, type RedisGrantInboxOptions } from '../redis/grant-inbox.js';
import type { Nodes } from './nodes.js';

/** How long after the first node has told that a lock is free the others are waited for, in ms. */
const TOGETHER_MS = 10;

/** What nodes have told one member. */
interface Hint {
  nodes: number;
  readonly timer: NodeJS.Timeout;
}

export interface WakeInboxOptions extends Omit<RedisGrantInboxOptions, 'servers' | 'listener'> {
  readonly nodes: Nodes;
  readonly listener: GrantListener;
}

/**
 * The channel of one client on every node. Nobody is granted anything here, for one node cannot know what the others
 * say: it wakes whom a majority of the nodes names as the next one.
 */
export class WakeInbox implements GrantInbox {
  readonly usable = false;
  readonly wakes = true;
  private readonly inboxes: readonly RedisGrantInbox[];
  private readonly hints = new Map<string, Hint>();
  private opened = 0;
  private asked = false;

  constructor(private readonly options: WakeInboxOptions) {
    const listener: GrantListener = {
      granted: (grant) => this.hinted(grant),
      opened: () => this.nodeOpened(),
      refused: () => undefined,
    };
    this.inboxes = options.nodes.all.map((servers) => new RedisGrantInbox({ ...options, servers, listener }));
  }

  get generation(): number {
    return this.options.nodes.generation;
  }

  open(): void {
    if (this.asked) return;
    this.asked = true;
    for (const inbox of this.inboxes) inbox.open();
  }

  async close(): Promise<void> {
    for (const { timer } of this.hints.values()) clearTimeout(timer);
    this.hints.clear();
    await Promise.all(this.inboxes.map(async (inbox) => inbox.close()));
  }

  private nodeOpened(): void {
    if (++this.opened === this.options.nodes.majority) this.options.listener.opened();
  }

  private hinted({ key, member }: Grant): void {
    const known = this.hints.get(member);
    if (known) {
      if (++known.nodes === this.options.nodes.majority) this.wake(key, member, known);
      return;
    }
    const hint: Hint = {
      nodes: 1,
      timer: runOutsideScopes(() =>
        setTimeout(() => {
          this.hints.delete(member);
          if (hint.nodes < this.options.nodes.majority) this.wake(key, member, hint);
        }, TOGETHER_MS).unref(),
      ),
    };
    this.hints.set(member, hint);
  }

  /** Once; what other nodes tell of the same release is swallowed until the time is over. */
  private wake(key: string, member: string, hint: Hint): void {
    hint.nodes = Math.max(hint.nodes, this.options.nodes.majority);
    this.options.listener.freed?.({ key, member });
  }
}
