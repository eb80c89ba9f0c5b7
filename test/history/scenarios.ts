import type { LockHandle } from 'nestjs-redis-lock';
import { waitFor } from '../support/wait-for.js';
import { KEY, type Actor, type Stage } from './stage.js';

const LONG = { ttl: '1m', wait: '1m' } as const;

/** What is played on a stage; whoever is in a critical section at its end is in it until then. */
export type Scenario = (stage: Stage) => Promise<void>;

/** A release that comes after its lease has ended, when somebody else has the lock. */
export const lateRelease: Scenario = async (stage) => {
  const release = await keepRelease(stage);
  await release();
  const third = await stage.actor();
  await stage.enter('third', third.client.tryAcquire(KEY, { ttl: LONG.ttl }));
};

/** The same, when one more waits for it. */
export const lateReleaseBeforeAWaiter: Scenario = async (stage) => {
  const release = await keepRelease(stage);
  const third = await stage.actor();
  stage.waits('third', third.client.acquire(KEY, LONG));
  await stage.untilQueued(1);
  await stage.untilListening(2);
  await release();
  await stage.untilReceived();
};

/** The lease of a holder that is cut off ends, and the next one gets in. Returns what lets the release through. */
async function keepRelease(stage: Stage): Promise<() => Promise<void>> {
  const [late, next] = [await stage.actor(), await stage.actor()];
  const lock = await late.client.acquire(KEY, { ttl: 600 });
  const waiting = next.client.acquire(KEY, LONG);
  await stage.untilQueued(1);
  await stage.untilListening(1);
  late.network.hold('commands');
  await stage.enter('next', waiting);
  await waitFor(() => lock.lost);
  return async () => {
    late.network.release('commands');
    await stage.untilQuiet(late);
  };
}

/** A holder that is cut off goes on beyond the end of its lease. */
export const cutOffHolder: Scenario = async (stage) => {
  const [cutOff, next] = [await stage.actor(), await stage.actor()];
  await stage.enter('cut off', cutOff.client.acquire(KEY, { ttl: 600 }));
  const waiting = next.client.acquire(KEY, LONG);
  await stage.untilQueued(1);
  cutOff.network.hold('commands');
  await stage.enter('next', waiting);
};

/** The answer that gives a lock comes when half of the lease is over. */
export const lateAnswer: Scenario = async (stage) => {
  const [late, next] = [await stage.actor(), await stage.actor()];
  late.network.hold('answers');
  const acquiring = late.client.acquire(KEY, { ttl: 1_500, renew: false });
  await waitFor(async () => stage.redis.exists(stage.lock).then(Boolean));
  const waiting = next.client.acquire(KEY, LONG);
  await waitFor(async () => (await stage.redis.pttl(stage.lock)) < 750);
  late.network.release('answers');
  await stage.enter('late', acquiring);
  await stage.enter('next', waiting);
};

/** What an earlier caller has left behind is given back once more when a later one has the lock. */
export const repeatedLeave: Scenario = async (stage) => {
  const backoff = { initial: '2s', max: '2s' } as const;
  const [late, next] = [await stage.actor({ backoff }), await stage.actor()];
  const caller = new AbortController();
  const isThere = async (): Promise<boolean> => (await stage.redis.exists(stage.lock)) === 1;
  late.network.hold('answers');
  const abandoned = late.client.acquire(KEY, { ...LONG, signal: caller.signal }).catch(() => undefined);
  await waitFor(isThere);
  caller.abort();
  await abandoned;
  await waitFor(async () => !(await isThere()));
  late.network.cut();
  late.network.release('answers');
  await stage.untilConnected(late);
  await stage.enter('late', late.client.acquire(KEY, LONG));
  await stage.untilQuiet(late);
  await stage.untilSent(late);
  await stage.enter('next', next.client.tryAcquire(KEY, { ttl: LONG.ttl }));
};

/** A grant is told when it is void and somebody else has the lock. */
export const lateGrant: Scenario = async (stage) => {
  const late = await missTheGrant(stage);
  late.network.release('messages');
  await stage.untilReceived();
  late.network.release('commands');
  await stage.untilQuiet(late);
};

/** The same, to a waiter that has asked since then and was answered that somebody else has the lock. */
export const lateGrantAfterAnswer: Scenario = async (stage) => {
  const late = await missTheGrant(stage);
  await stage.untilSent(late, () => late.network.release('commands'));
  // The question that was held was asked long ago. So one more.
  await stage.untilSent(late);
  late.network.release('messages');
  await stage.untilReceived();
  await stage.untilQuiet(late);
};

/** A waiter that is cut off is granted the lock and misses that, and the next one gets in. */
async function missTheGrant(stage: Stage): Promise<Actor> {
  const [first, late, next] = [await stage.actor(), await stage.actor(), await stage.actor()];
  const lock = await first.client.acquire(KEY, LONG);
  stage.waits('late', late.client.acquire(KEY, LONG));
  await stage.untilQueued(1);
  await stage.untilListening(1);
  await stage.untilQuiet(late);
  const waiting = next.client.acquire(KEY, LONG);
  await stage.untilQueued(2);
  late.network.hold('commands', 'messages');
  await lock.release();
  await stage.enter('next', waiting);
  return late;
}

/** A grant that was confirmed is held for longer than one that was not. */
export const confirmedGrant: Scenario = async (stage) => {
  const [first, granted, next] = [await stage.actor(), await stage.actor(), await stage.actor()];
  const lock = await first.client.acquire(KEY, LONG);
  const waiting = granted.client.acquire(KEY, LONG);
  await stage.untilQueued(1);
  await stage.untilListening(1);
  await lock.release();
  const voidAt = Number(await stage.redis.hget(stage.lock, '@until'));
  await stage.enter('granted', waiting);
  await waitFor(async () => {
    const [seconds, micros] = (await stage.redis.time()).map(Number) as [number, number];
    return seconds * 1_000 + micros / 1_000 > voidAt;
  });
  await stage.enter('next', next.client.tryAcquire(KEY, { ttl: LONG.ttl }));
};

/** Locks are handed over within a process while the counter is ahead of the clock, as after a failover. */
export const handOver: Scenario = async (stage) => {
  const [one, other] = [await stage.actor(), await stage.actor()];
  await stage.redis.set(`${stage.prefix}:fence`, 8e15);
  for (let round = 0; round < 5; round++) {
    await stage.enter('first', one.client.acquire(KEY, LONG));
    const waiting = one.client.acquire(KEY, LONG);
    await stage.leaveAndRelease('first');
    await stage.enter('second', waiting);
    await stage.leaveAndRelease('second');
    await stage.enter('other', other.client.acquire(KEY, LONG));
    await stage.leaveAndRelease('other');
  }
};

/**
 * The answer to the question that queued a waiter comes when the waiter has been told of its grant and makes sure of
 * that.
 */
export const answerBehindGrant: Scenario = async (stage) => {
  const [first, late, next] = [await stage.actor(), await stage.actor(), await stage.actor()];
  // Its inbox is open from now on.
  let lock: LockHandle = await first.client.acquire(KEY, LONG);
  const earlier = late.client.acquire(KEY, LONG);
  await stage.untilListening(1);
  await stage.untilQuiet(late);
  await lock.release();
  await (await earlier).release();

  lock = await first.client.acquire(KEY, LONG);
  late.network.hold('answers');
  const waiting = late.client.acquire(KEY, LONG);
  await stage.untilQueued(1);
  const asked = late.network.passed('commands');
  await lock.release();
  await waitFor(() => late.network.passed('commands') > asked);
  late.network.release('answers');
  await stage.enter('late', waiting);
  await stage.untilQuiet(late);
  await stage.enter('next', next.client.tryAcquire(KEY, { ttl: LONG.ttl }));
};
