import {
  MemoryLockStore,
  type AcquireCommand,
  type AcquireReply,
  type LockState,
  type LockStore,
  type ReleaseCommand,
  type ReleaseReply,
  type RenewCommand,
  type RenewReply,
} from 'nestjs-redis-lock';
import type {
  Grant,
  GrantInbox,
  GrantListener,
  Holders,
  ReduceCommand,
} from '../../libs/redis-lock/src/stores/lock-store.js';

/** A store that keeps every rule; each of the broken ones breaks one. */
export class Store implements LockStore {
  protected readonly sound = new MemoryLockStore();
  /** Of all clients, by their instance. */
  protected readonly listeners = new Map<string, GrantListener>();

  acquire(command: AcquireCommand): Promise<AcquireReply> {
    return this.sound.acquire(command);
  }

  release(command: ReleaseCommand): Promise<ReleaseReply> {
    return this.sound.release(command);
  }

  renew(commands: readonly RenewCommand[]): Promise<RenewReply>[] {
    return commands.map(async (command) => this.renewOne(command));
  }

  inspect(key: string): Promise<LockState> {
    return this.sound.inspect(key);
  }

  holders(key: string): Promise<Holders> {
    return this.sound.holders(key);
  }

  reduce(command: ReduceCommand): Promise<boolean> {
    return this.sound.reduce(command);
  }

  grants(instance: string, listener: GrantListener): GrantInbox {
    this.listeners.set(instance, listener);
    return this.sound.grants(instance, {
      granted: (grant) => void this.granted(grant, listener),
      opened: () => this.opened(listener),
      refused: () => listener.refused(),
    });
  }

  close(): Promise<void> {
    return this.sound.close();
  }

  protected async renewOne(command: RenewCommand): Promise<RenewReply> {
    const [reply] = this.sound.renew([command]);
    return reply ?? { status: 'gone' };
  }

  protected granted(grant: Grant, listener: GrantListener): void | Promise<void> {
    listener.granted(grant);
  }

  protected opened(listener: GrantListener): void {
    listener.opened();
  }

  protected async isFree(key: string): Promise<boolean> {
    return (await this.sound.inspect(key)).status === 'free';
  }

  /** Makes the key free, whoever has it. */
  protected async free(key: string): Promise<void> {
    const state = await this.sound.inspect(key);
    if (state.status === 'held') await this.sound.release({ key, member: state.holder, minHoldMs: 0 });
  }
}

/** Knows who waits for a key, and under which arrival number. */
export class TrackingStore extends Store {
  private readonly queues = new Map<string, Map<string, number>>();

  override async acquire(command: AcquireCommand): Promise<AcquireReply> {
    const reply = await super.acquire(command);
    if (reply.status === 'held' && reply.place) this.queue(command.key).set(command.member, reply.place.arrival);
    else this.queue(command.key).delete(command.member);
    return reply;
  }

  override async release(command: ReleaseCommand): Promise<ReleaseReply> {
    if (command.token === undefined) this.queue(command.key).delete(command.member);
    return super.release(command);
  }

  protected override granted(grant: Grant, listener: GrantListener): void | Promise<void> {
    this.queue(grant.key).delete(grant.member);
    return super.granted(grant, listener);
  }

  protected queue(key: string): Map<string, number> {
    const queue = this.queues.get(key) ?? new Map<string, number>();
    this.queues.set(key, queue);
    return queue;
  }

  protected async dropQueue(key: string): Promise<void> {
    for (const member of this.queue(key).keys()) await super.release({ key, member, minHoldMs: 0 });
    this.queue(key).clear();
  }
}

export function instanceOf(member: string): string {
  return member.slice(0, member.lastIndexOf('#'));
}
