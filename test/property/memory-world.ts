import { MemoryLockStore, type LockStore } from 'nestjs-redis-lock';
import type { MemoryHolds } from '../../libs/redis-lock/src/stores/memory/memory-holds.js';
import type { MemoryQueues } from '../../libs/redis-lock/src/stores/memory/memory-queue.js';
import { KEYS, World } from './world.js';

/** One store in memory for all clients. */
export class MemoryWorld extends World {
  private readonly holds: MemoryHolds;
  private readonly queues: MemoryQueues;

  /** @param store a MemoryLockStore, or one of the test stores that are built around one. */
  constructor(private readonly store: LockStore = new MemoryLockStore()) {
    super();
    // To meddle, an administrator reaches into the store.
    const memory = (Reflect.get(store, 'sound') as LockStore | undefined) ?? store;
    this.holds = Reflect.get(memory, 'holds') as MemoryHolds;
    this.queues = Reflect.get(memory, 'queues') as MemoryQueues;
  }

  override async expire(key: string): Promise<number | undefined> {
    const hold = this.holds.find(key);
    if (!hold) return undefined;
    const { member, token } = hold;
    this.holds.put(key, { member, token, expiresAt: Date.now() + 1 });
    return member === undefined ? undefined : token;
  }

  override async deleteLock(key: string): Promise<number | undefined> {
    const hold = this.holds.find(key);
    this.holds.remove(key);
    return hold?.member === undefined ? undefined : hold.token;
  }

  override async deleteQueue(key: string): Promise<void> {
    this.queues.drop(key, () => true);
  }

  override breakConnections(): undefined {}

  override async flushScripts(): Promise<void> {}

  override async left(): Promise<string[]> {
    return [...new Set(KEYS)].flatMap((key) => {
      const holder = this.holds.find(key);
      const waiting = this.queues.size(key);
      return [
        ...(holder ? [`a lock of ${holder.member ?? 'minHold'} for ${key}`] : []),
        ...(waiting > 0 ? [`${waiting} in the queue for ${key}`] : []),
      ];
    });
  }

  protected override connect(): { store: LockStore; close(): Promise<void> } {
    return { store: this.store, close: async () => undefined };
  }

  protected override async end(): Promise<void> {
    await this.store.close();
  }
}
