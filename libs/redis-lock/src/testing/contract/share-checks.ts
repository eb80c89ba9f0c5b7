import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import { LockUnavailableError } from '../../lock/lock.errors.js';
import { GRANT_CONFIRM_MS, type Holders, type Share } from '../../stores/lock-store.js';
import { acquired, acquiredInFull, held, LEASE, SHORT, waiting, type Bench } from './bench.js';
import type { ContractClient } from './client.js';
import { until } from './until.js';

const share = (permits: number, limit = 3): Share => ({ permits, limit });
const ONE = share(1);
const TWO = share(2);
const ALL = share(3);

async function holdersOf({ store, key }: Bench): Promise<Holders> {
  return (await store.holders?.(key)) ?? assert.fail('a store with shares can say who holds them');
}

async function namesOf(bench: Bench): Promise<string[]> {
  return (await holdersOf(bench)).holders.map(({ holder }) => holder).sort();
}

async function reduce({ store, key }: Bench, member: string, token: number, from: Share): Promise<boolean> {
  return (await store.reduce?.({ key, member, token, share: from })) ?? assert.fail('a store with shares reduces them');
}

/** Locks that several members hold together. Each check gets a client whose inbox is open. */
export const shareChecks: Record<string, (bench: Bench, client: ContractClient) => Promise<void>> = {
  'lets members in together until all permits are taken': async (bench) => {
    const first = acquiredInFull(await bench.acquire('a', { share: ONE }));
    const second = acquiredInFull(await bench.acquire('b', { share: TWO }));
    assert.ok(second.token > first.token && Number.isSafeInteger(first.token));
    const refused = held(await bench.acquire('c', { share: ONE }));
    assert.ok(['a', 'b'].includes(refused.holder));
    assert.ok(refused.token >= second.token, 'it tells the highest number that was given out');
    assert.equal(refused.place, undefined);
    const { holders, permits, queued } = await holdersOf(bench);
    const tokenOf = Object.fromEntries(holders.map(({ holder, token }) => [holder, token]));
    assert.deepEqual(tokenOf, { a: first.token, b: second.token });
    assert.equal(permits, 3);
    assert.equal(queued, 0, 'one attempt leaves nothing behind');
    for (const { remainingMs, heldSince, token } of holders) {
      assert.ok(remainingMs > LEASE - 5_000 && remainingMs <= LEASE);
      assert.equal(heldSince, Math.floor(token / 1000));
    }
    assert.equal((await bench.store.inspect(bench.key)).status, 'held');
    assert.deepEqual(await bench.release('a', { token: first.token, share: ONE }), { status: 'released' });
    acquiredInFull(await bench.acquire('c', { share: ONE }));
    for (const [member, of] of Object.entries({ b: TWO, c: ONE })) {
      assert.deepEqual(await bench.release(member, { share: of }), { status: 'released' });
    }
    assert.ok(await bench.isFree());
  },

  'gives a holder that asks again the same token, and no more permits': async (bench) => {
    const { token } = acquired(await bench.acquire('a', { share: TWO }));
    assert.equal(acquired(await bench.acquire('a', { share: TWO })).token, token);
    assert.equal((await holdersOf(bench)).permits, 2);
    acquired(await bench.acquire('b', { share: ONE }));
  },

  'lets nobody pass by a member that waits for more permits': async (bench, client) => {
    acquired(await bench.acquire('a', { share: TWO }));
    const [big, small] = [client.member(), client.member()];
    waiting(await bench.acquire(big, { share: TWO, queue: {} }));
    held(await bench.acquire('passing', { share: ONE }));
    const behind = waiting(await bench.acquire(small, { share: ONE, queue: {} }));
    assert.equal(behind.queued, 2);
    await bench.release('a', { share: TWO });
    assert.deepEqual(await namesOf(bench), [big, small].sort(), 'both have room then');
    const told = [await client.told(1), await client.told(2)];
    assert.deepEqual(
      told.map(({ key, member, share: granted }) => [key, member, granted?.permits]),
      [
        [bench.key, big, 2],
        [bench.key, small, 1],
      ],
    );
    assert.ok((told[1]?.token ?? 0) > (told[0]?.token ?? Infinity), 'tokens grow');
    await client.toldNoMoreThan(2);
  },

  'ends each lease by itself, and frees the permits of that holder only': async (bench) => {
    acquired(await bench.acquire('short', { share: TWO, leaseMs: SHORT }));
    const { token } = acquired(await bench.acquire('long', { share: ONE }));
    await until('one lease is over', async () => (await namesOf(bench)).length === 1);
    assert.equal((await holdersOf(bench)).permits, 1);
    assert.equal((await bench.renew('long', token, LEASE, ONE)).status, 'renewed');
    acquired(await bench.acquire('next', { share: TWO }));
    assert.deepEqual(await bench.release('short', { share: TWO }), { status: 'lost' });
    assert.deepEqual(await namesOf(bench), ['long', 'next']);
  },

  'renews and releases by member and token, one holder at a time': async (bench) => {
    const { token } = acquired(await bench.acquire('a', { share: TWO, leaseMs: 2_000 }));
    acquired(await bench.acquire('b', { share: ONE, leaseMs: 2_000 }));
    assert.deepEqual(await bench.renew('a', token + 1, LEASE, TWO), { status: 'gone' });
    assert.deepEqual(await bench.release('a', { token: token + 1, share: TWO }), { status: 'lost' });
    const renewed = await bench.renew('a', token, LEASE, TWO);
    assert.ok(renewed.status === 'renewed' && renewed.remainingMs > LEASE - 5_000);
    const shorter = await bench.renew('a', token, 100, TWO);
    assert.ok(shorter.status === 'renewed' && shorter.remainingMs > LEASE - 5_000, 'it never shortens a lease');
    await until('only the other lease is over', async () => (await namesOf(bench)).join() === 'a');
    assert.deepEqual(await bench.release('a', { token, share: TWO }), { status: 'released' });
    assert.deepEqual(await bench.renew('a', token, LEASE, TWO), { status: 'gone' });
    assert.ok(await bench.isFree());
  },

  'voids a share that was granted and not confirmed, and keeps one that was': async (bench, client) => {
    acquired(await bench.acquire('a', { share: ALL }));
    const [confirms, vanishes, vanished] = [client.member(), (await bench.client()).member(), client.member()];
    for (const member of [confirms, vanishes]) waiting(await bench.acquire(member, { share: ONE, queue: {} }));
    await bench.release('a', { share: ALL });
    const { token } = await client.told();
    const known = acquired(await bench.acquire(confirms, { share: ONE }));
    assert.ok(known.token === token && known.granted === true && known.remainingMs <= GRANT_CONFIRM_MS);
    assert.equal((await bench.renew(confirms, token, LEASE, ONE)).status, 'renewed');
    assert.equal(acquired(await bench.acquire(confirms, { share: ONE })).granted ?? false, false);
    waiting(await bench.acquire(vanished, { share: ALL, queue: {} }));
    await pause(GRANT_CONFIRM_MS + 100);
    assert.deepEqual(await namesOf(bench), [confirms]);
    assert.deepEqual(await bench.release(vanishes, { share: ONE }), { status: 'lost' });
    assert.equal((await holdersOf(bench)).queued, 1, 'other instances wait on');
  },

  'keeps permits back for as long as minHold says': async (bench) => {
    const { token } = acquired(await bench.acquire('a', { share: TWO }));
    assert.deepEqual(await bench.release('a', { token, share: TWO, minHoldMs: 1_000 }), { status: 'kept' });
    assert.deepEqual(await namesOf(bench), [], 'nobody works under them');
    assert.equal((await holdersOf(bench)).permits, 2);
    assert.deepEqual(await bench.release('a', { token, share: TWO }), { status: 'lost' });
    acquired(await bench.acquire('b', { share: ONE }));
    const waits = async (): Promise<boolean> => (await bench.acquire('c', { share: TWO })).status === 'acquired';
    assert.equal(await waits(), false);
    await until('minHold is over', waits);
  },

  'leaves a holder with one permit, and grants the others': async (bench, client) => {
    const { token } = acquired(await bench.acquire('a', { share: ALL }));
    const member = client.member();
    waiting(await bench.acquire(member, { share: TWO, queue: {} }));
    assert.equal(await reduce(bench, 'a', token + 1, ALL), false, 'that is no holder');
    for (let times = 0; times < 2; times++) assert.equal(await reduce(bench, 'a', token, ALL), true);
    assert.equal((await client.told()).member, member);
    assert.equal((await holdersOf(bench)).permits, 3);
    for (const each of [ALL, ONE]) assert.equal((await bench.renew('a', token, LEASE, each)).status, 'renewed');
    assert.deepEqual(await bench.release('a', { token, share: ALL }), { status: 'released' });
    assert.equal(await reduce(bench, 'a', token, ALL), false);
    assert.deepEqual(await namesOf(bench), [member]);
  },

  'judges each member by its own limit, the one of its last question': async (bench, client) => {
    acquired(await bench.acquire('a', { share: share(1, 1) }));
    const member = client.member();
    const { arrival } = waiting(await bench.acquire(member, { share: share(1, 1), queue: {} })).place;
    acquiredInFull(await bench.acquire(member, { share: TWO, queue: { arrival } }));
    held(await bench.acquire('b', { share: share(1, 2) }));
  },

  'serves who waited for permits behind a member that leaves': async (bench, client) => {
    acquired(await bench.acquire('a', { share: TWO }));
    const [big, small] = [client.member(), client.member()];
    waiting(await bench.acquire(big, { share: ALL, queue: {} }));
    waiting(await bench.acquire(small, { share: ONE, queue: {} }));
    assert.deepEqual(await bench.release(big, { share: ALL }), { status: 'lost' });
    assert.equal((await client.told()).member, small);
    assert.deepEqual(await namesOf(bench), ['a', small].sort());
  },

  'passes over members that wait for permits and do not listen': async (bench, client) => {
    acquired(await bench.acquire('a', { share: ALL }));
    const [deaf, member] = [bench.closedClient().member(), client.member()];
    const { listening } = waiting(await bench.acquire(deaf, { share: ALL, queue: {} })).place;
    waiting(await bench.acquire(member, { share: ONE, queue: {} }));
    if (listening === undefined) return;
    await bench.release('a', { share: ALL });
    assert.deepEqual(await namesOf(bench), [member]);
    assert.equal((await holdersOf(bench)).queued, 0);
  },

  'refuses a plain lock beside shares, and shares beside a plain lock': async (bench) => {
    const isRefused = async (asked: Promise<unknown>): Promise<void> =>
      assert.rejects(asked, (error) => error instanceof LockUnavailableError && !error.retryable);
    const { token } = acquired(await bench.acquire('a', { share: ONE }));
    await isRefused(bench.acquire('b'));
    assert.deepEqual(await bench.release('a', { token, share: ONE }), { status: 'released' });
    acquired(await bench.acquire('b'));
    await isRefused(bench.acquire('a', { share: ONE }));
    await bench.free('b');
  },
};
