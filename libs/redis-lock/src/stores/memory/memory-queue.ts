import { POLL_CAP_MS, type QueueRequest, type Share } from '../lock-store.js';

export interface Waiter {
  readonly member: string;
  readonly arrival: number;
  /** It is granted the lock although no inbox of it can be seen. */
  uncountable: boolean;
  /** Undefined: the whole lock. */
  share: Share | undefined;
}

interface Queue {
  /** By arrival number, the smallest first. */
  readonly waiters: Waiter[];
  /** Ends the queue when nobody has asked for long enough. */
  readonly timer: NodeJS.Timeout;
}

/** The queues of all keys; one exists while somebody waits. */
export class MemoryQueues {
  private readonly queues = new Map<string, Queue>();

  /** How many members wait for a key. */
  size(key: string): number {
    return this.queues.get(key)?.waiters.length ?? 0;
  }

  /** Gives a member its place, the one that it has already if it waits. */
  join(
    key: string,
    member: string,
    { arrival, uncountable = false }: QueueRequest,
    nextArrival: () => number,
    share?: Share,
  ): { arrival: number; rejoined: boolean } {
    const queue = this.asked(key);
    const known = queue.waiters.find((waiter) => waiter.member === member);
    if (known) {
      known.uncountable = uncountable;
      known.share = share;
      return { arrival: known.arrival, rejoined: false };
    }
    const place = arrival ?? nextArrival();
    const before = queue.waiters.findLastIndex((waiter) => waiter.arrival <= place);
    queue.waiters.splice(before + 1, 0, { member, arrival: place, uncountable, share });
    return { arrival: place, rejoined: arrival !== undefined };
  }

  first(key: string): Waiter | undefined {
    return this.queues.get(key)?.waiters[0];
  }

  /** Takes the head out. */
  shift(key: string): Waiter | undefined {
    const head = this.queues.get(key)?.waiters.shift();
    this.dropEmpty(key);
    return head;
  }

  /** Takes those out who satisfy a condition. */
  drop(key: string, leaves: (member: string) => boolean): void {
    const waiters = this.queues.get(key)?.waiters ?? [];
    const staying = waiters.filter(({ member }) => !leaves(member));
    waiters.splice(0, waiters.length, ...staying);
    this.dropEmpty(key);
  }

  clear(): void {
    for (const { timer } of this.queues.values()) clearTimeout(timer);
    this.queues.clear();
  }

  private asked(key: string): Queue {
    const queue = this.queues.get(key);
    if (queue) {
      queue.timer.refresh();
      return queue;
    }
    const timer = setTimeout(() => this.queues.delete(key), 5 * POLL_CAP_MS);
    timer.unref();
    const fresh = { waiters: [], timer };
    this.queues.set(key, fresh);
    return fresh;
  }

  private dropEmpty(key: string): void {
    const queue = this.queues.get(key);
    if (!queue || queue.waiters.length > 0) return;
    clearTimeout(queue.timer);
    this.queues.delete(key);
  }
}
