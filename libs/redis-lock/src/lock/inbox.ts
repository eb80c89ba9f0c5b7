import type { Grant, GrantInbox, GrantListener, LockStore } from '../stores/lock-store.js';
import { Registry } from './registry.js';
import { runOutsideScopes } from './scope.js';

/** Who waits in the store under some member. */
export interface GrantReceiver {
  /** The member owns the key since a moment ago. */
  granted(token: number): void;
  /** Ask now: what was told before may not have arrived. */
  ask(): void;
  /** Ask soon: the key may be free. */
  freed?(): void;
}

/** Between two who ask because the inbox was opened anew, or places were lost, in ms. */
const SPREAD_MS = 1;

/** A process whose grants were found by asking, and not told, so many times in a row doubts its inbox. */
const SILENT_GRANTS = 2;

/** The one inbox of a client: brings each grant to whoever waits for it. */
export class Inbox implements GrantListener {
  private readonly inbox: GrantInbox;
  private readonly receivers = new Registry<GrantReceiver>();
  private readonly spreading = new Set<NodeJS.Timeout>();
  private openedAt: number | undefined;
  private reopenedAt: number | undefined;
  private silentGrants = 0;

  /** @param disown gives back a grant that nobody waits for any more. */
  constructor(
    store: LockStore,
    instance: string,
    private readonly disown: (grant: Grant) => void,
  ) {
    this.inbox = store.grants(instance, this);
  }

  /** Whether grants can be told; if not, nobody may queue in the store. */
  get usable(): boolean {
    return this.inbox.usable;
  }

  /** See {@link GrantInbox.wakes}. */
  get wakes(): boolean {
    return this.inbox.wakes === true;
  }

  /** See {@link GrantInbox.generation}. */
  get generation(): number {
    return this.inbox.generation;
  }

  expect(member: string, receiver: GrantReceiver): void {
    this.receivers.set(member, receiver);
  }

  forget(member: string): void {
    this.receivers.delete(member);
  }

  granted(grant: Grant): void {
    this.silentGrants = 0;
    const receiver = this.receivers.get(grant.member);
    if (receiver) receiver.granted(grant.token);
    else this.disown(grant);
  }

  freed({ member }: Pick<Grant, 'member'>): void {
    this.receivers.get(member)?.freed?.();
  }

  opened(): void {
    this.openedAt = performance.now();
    this.spread(this.receivers.values());
  }

  refused(): void {
    this.spread(this.receivers.values());
  }

  /** Opens the inbox, unless it has been open. */
  open(): void {
    if (this.openedAt === undefined) this.inbox.open();
  }

  /** The answer to a command sent at `sent` (ms of the monotonic clock) shows that the store sees this inbox. */
  seen(): void {
    this.reopenedAt = undefined;
  }

  /**
   * The answer shows that it does not. Opens the inbox, maybe again.
   * @returns whether that has been tried already: the store cannot see it.
   */
  notSeen(sent: number): boolean {
    this.open();
    if (this.openedAt === undefined || sent < this.openedAt) return false;
    if (this.reopenedAt !== undefined) return sent > this.reopenedAt && this.openedAt > this.reopenedAt;
    this.reopenedAt = performance.now();
    this.inbox.open();
    return false;
  }

  /** A grant was found by asking. A connection can be dead without anybody having noticed. */
  foundByAsking(): void {
    if (++this.silentGrants < SILENT_GRANTS) return;
    this.silentGrants = 0;
    this.inbox.open();
  }

  /** Each of them asks once, one after another, so that they do not all come at once; then it calls back. */
  spread(receivers: Iterable<GrantReceiver>, done?: () => void): void {
    const all = [...receivers];
    let next = 0;
    const wake = (): void => {
      all[next++]?.ask();
      if (next < all.length) sleep();
      else done?.();
    };
    const sleep = (): void => {
      const timer = setTimeout(() => {
        this.spreading.delete(timer);
        wake();
      }, SPREAD_MS);
      this.spreading.add(timer);
    };
    runOutsideScopes(sleep);
  }

  async close(): Promise<void> {
    for (const timer of this.spreading) clearTimeout(timer);
    this.spreading.clear();
    await this.inbox.close();
  }
}
