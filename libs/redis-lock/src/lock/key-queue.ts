import type { HeldReply } from '../stores/lock-store.js';
import { elapsedSince, type Moment } from './clock.js';
import { Gate } from './gate.js';
import type { Hold } from './hold.js';
import { LockUnavailableError, type LockHolder } from './lock.errors.js';

/**
 * The callers of this process that want one key: one of them at a time is at the store or holds the lock, the others
 * queue here.
 */
export class KeyQueue {
  readonly gate = new Gate();
  /** The hold of this process, while it has one. */
  hold: Hold | undefined;
  /** Whether the caller at the store was told that somebody else holds the key. */
  contending = false;
  /** What the store said last, or why it could not be asked. */
  lastSeen: HeldReply | LockUnavailableError | undefined;
  /** When the question to the store was sent that is still open. */
  askedAt: Moment | undefined;
  /** Callers in the queue or inside; the last one that leaves takes the queue away. */
  users = 0;

  get waiting(): number {
    return this.gate.waiting + (this.contending ? 1 : 0);
  }

  /** For how long the store has owed an answer, in ms. */
  get unansweredMs(): number {
    return this.askedAt ? elapsedSince(this.askedAt) : 0;
  }

  get holder(): LockHolder | undefined {
    if (this.hold) return holderOf(this.hold);
    return this.lastSeen instanceof LockUnavailableError ? undefined : this.lastSeen;
  }
}

export class KeyQueues {
  private readonly queues = new Map<string, KeyQueue>();

  /** @param shared false: a queue of its own for each caller, so that nobody waits for anybody. */
  constructor(private readonly shared: boolean) {}

  get size(): number {
    return this.queues.size;
  }

  /** @param known the queue that a further user of it came from. */
  enter(key: string, known?: KeyQueue): KeyQueue {
    const queue = known ?? (this.shared ? this.queues.get(key) : undefined) ?? new KeyQueue();
    if (this.shared) this.queues.set(key, queue);
    queue.users++;
    return queue;
  }

  leave(key: string, queue: KeyQueue): void {
    queue.users--;
    if (queue.users === 0 && this.shared) this.queues.delete(key);
  }
}

function holderOf(hold: Hold): LockHolder {
  return { holder: hold.member, heldSince: Math.floor(hold.token / 1000), remainingMs: hold.remainingMs };
}
