import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type {
  AcquiredReply,
  AcquireReply,
  HeldReply,
  LockState,
  LockStore,
  QueuePlace,
  QueueRequest,
  ReleaseCommand,
  ReleaseReply,
  RenewReply,
  Share,
} from '../../stores/lock-store.js';
import { ContractClient } from './client.js';
import { until } from './until.js';

export const LEASE = 30_000;
export const SHORT = 200;

export interface Attempt {
  readonly leaseMs?: number;
  readonly key?: string;
  readonly queue?: QueueRequest;
  readonly share?: Share;
}

export type Waiting = HeldReply & { readonly place: QueuePlace };

/** A store and a key of its own. */
export class Bench {
  readonly key = `contract-${randomUUID()}`;
  private readonly clients: ContractClient[] = [];

  constructor(readonly store: LockStore) {}

  /** The same store with another key. */
  another(): Bench {
    return new Bench(this.store);
  }

  /** A client whose inbox is open. */
  async client(): Promise<ContractClient> {
    const client = this.closedClient();
    assert.ok(await client.open(), 'an inbox can be opened when another one could');
    return client;
  }

  /** A client that has not opened its inbox. */
  closedClient(): ContractClient {
    const client = new ContractClient(this.store);
    this.clients.push(client);
    return client;
  }

  async close(): Promise<void> {
    await Promise.all(this.clients.map(async ({ inbox }) => inbox.close()));
  }

  acquire(member: string, { leaseMs = LEASE, key = this.key, queue, share }: Attempt = {}): Promise<AcquireReply> {
    return this.store.acquire({ key, member, leaseMs, share, withinMs: 10_000, ...(queue && { queue }) });
  }

  async acquireEventually(member: string): Promise<AcquiredReply> {
    for (let attempt = 0; attempt < 1_000; attempt++) {
      const reply = await this.acquire(member);
      if (reply.status === 'acquired') return reply;
      await pause(Math.max(1, Math.min(50, reply.remainingMs)));
    }
    return assert.fail('the key did not become free');
  }

  /** Queues a member behind the holder. */
  async wait(member: string, queue: QueueRequest = {}): Promise<Waiting> {
    return waiting(await this.acquire(member, { queue }));
  }

  release(member: string, command: Partial<ReleaseCommand> = {}): Promise<ReleaseReply> {
    return this.store.release({ key: this.key, member, minHoldMs: 0, ...command });
  }

  /** A release that frees the key, with no successor. */
  async free(member: string): Promise<void> {
    assert.deepEqual(await this.release(member), { status: 'released' });
  }

  renew(member: string, token: number, leaseMs = LEASE, share?: Share): Promise<RenewReply> {
    const [reply] = this.store.renew([{ key: this.key, member, token, leaseMs, share }]);
    return reply ?? assert.fail('one promise for each command');
  }

  /** Makes a grant of the free key to a member that nobody else waits before, and gives its token. */
  async grantTo(member: string): Promise<number> {
    acquired(await this.acquire('former'));
    await this.wait(member);
    await this.free('former');
    const state = await this.holder();
    assert.equal(state.holder, member, 'the first in the queue is granted the lock');
    return state.token;
  }

  async holder(): Promise<HeldReply> {
    const state = await this.store.inspect(this.key);
    return state.status === 'held' ? state : assert.fail('the key is free');
  }

  async isFree(): Promise<boolean> {
    return (await this.store.inspect(this.key)).status === 'free';
  }

  async untilFree(): Promise<void> {
    await this.until((state) => state.status === 'free');
  }

  async untilRemaining(ms: number): Promise<void> {
    await this.until((state) => state.status === 'free' || state.remainingMs <= ms);
  }

  private async until(reached: (state: LockState) => boolean): Promise<void> {
    await until('the lease runs down', async () => reached(await this.store.inspect(this.key)), 10_000);
  }
}

export function acquired(reply: AcquireReply | undefined): AcquiredReply {
  if (reply?.status === 'acquired') return reply;
  return assert.fail(reply ? `not acquired, but held by ${reply.holder}` : 'no answer');
}

/** Acquired in the answer itself: the full lease, and nothing to confirm. */
export function acquiredInFull(reply: AcquireReply | undefined): AcquiredReply {
  const own = acquired(reply);
  assert.ok(!own.granted, 'what is acquired in the answer is not a grant');
  assert.ok(own.remainingMs > LEASE - 5_000 && own.remainingMs <= LEASE, 'it has its full lease');
  return own;
}

export function held(reply: AcquireReply | undefined): HeldReply {
  return reply?.status === 'held' ? reply : assert.fail('acquired, although another member comes first');
}

export function waiting(reply: AcquireReply | undefined): Waiting {
  const { place, ...rest } = held(reply);
  return place ? { ...rest, place } : assert.fail('who waits is told its place');
}
