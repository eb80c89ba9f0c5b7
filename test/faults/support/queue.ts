import type { LockClient } from 'nestjs-redis-lock';
import type { LockFixture } from '../../cases/support/lock-fixture.js';
import { waitFor } from '../../support/wait-for.js';

/** The members that wait for a key in Redis, in their order. */
export async function queueOf(fixture: LockFixture, key: string): Promise<string[]> {
  return fixture.redis.zrange(`${fixture.redisKey(key)}:queue`, 0, -1);
}

export async function untilQueued(fixture: LockFixture, key: string, count: number): Promise<string[]> {
  return waitFor(
    async () => {
      const queue = await queueOf(fixture, key);
      return queue.length === count && queue;
    },
    { what: `${count} members wait for ${key}` },
  );
}

/** The channels that grants of this test go to, as long as somebody listens. */
export async function inboxes(fixture: LockFixture): Promise<string[]> {
  return (await fixture.redis.pubsub('CHANNELS', `${fixture.prefix}:inbox:*`)) as string[];
}

export async function untilListening(fixture: LockFixture, count: number): Promise<string[]> {
  return waitFor(
    async () => {
      const channels = await inboxes(fixture);
      return channels.length === count && channels;
    },
    { what: `${count} inboxes are open` },
  );
}

/** The inbox of the member that waits. */
export function inboxOf(fixture: LockFixture, member: string): string {
  return `${fixture.prefix}:inbox:${member.replace(/#.*$/, '')}`;
}

/** Lets clients wait once, so that their inboxes are open and nothing is under way. */
export async function openInboxes(fixture: LockFixture, ...clients: LockClient[]): Promise<void> {
  const before = (await inboxes(fixture)).length;
  const holder = fixture.client();
  const lock = await holder.acquire('warm-up', { ttl: '1m' });
  const waiting = clients.map(async (client) => (await client.acquire('warm-up', { wait: '1m' })).release());
  await untilListening(fixture, before + clients.length);
  await lock.release();
  await Promise.all(waiting);
  await holder.close();
  await waitFor(async () => (await fixture.redis.keys(`${fixture.prefix}:{warm-up}*`)).length === 0);
}

/** How often Redis has run a command since the statistics were reset, whether a client or a script told it to. */
export async function callsOf(fixture: LockFixture, command: string): Promise<number> {
  const stats = await fixture.redis.info('commandstats');
  return Number(new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(stats)?.[1] ?? 0);
}

/** The scenario itself: so much time goes by. */
export async function pass(ms: number): Promise<void> {
  const until = performance.now() + ms;
  await waitFor(() => performance.now() >= until, { timeoutMs: ms + 10_000 });
}

/** Somebody holds the key who will never say anything again, for so long. */
export async function leaveHeld(fixture: LockFixture, key: string, leaseMs: number): Promise<void> {
  const end = String(Date.now() + leaseMs);
  await fixture.redis
    .multi()
    .hset(fixture.redisKey(key), 'gone-1-a#1/1000000000000000', end)
    .pexpire(fixture.redisKey(key), leaseMs)
    .exec();
}
