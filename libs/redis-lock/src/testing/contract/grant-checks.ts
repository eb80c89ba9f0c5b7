import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import { GRANT_CONFIRM_MS, RESERVED_TOKENS } from '../../stores/lock-store.js';
import { acquired, acquiredInFull, held, LEASE, SHORT, type Bench } from './bench.js';
import type { ContractClient } from './client.js';

/** What a release gives to the next one in the queue. Each check gets a client whose inbox is open. */
export const grantChecks: Record<string, (bench: Bench, client: ContractClient) => Promise<void>> = {
  'grants a released key to the first in the queue, and tells its client': async (bench, client) => {
    const other = await bench.client();
    const { token } = acquired(await bench.acquire('a'));
    const [first, second] = [client.member(), other.member()];
    await bench.wait(first);
    await bench.wait(second);
    assert.deepEqual(await bench.release('a', { token }), { status: 'released' });
    const grant = await client.told();
    assert.deepEqual(grant, { key: bench.key, member: first, token: grant.token });
    assert.ok(grant.token > token + RESERVED_TOKENS);
    const reply = await bench.wait(second);
    assert.equal(reply.holder, first);
    assert.equal(reply.token, grant.token);
    assert.equal(reply.queued, 1);
    assert.ok(reply.remainingMs > 0 && reply.remainingMs <= GRANT_CONFIRM_MS, 'it is held until the grant is void');
    await client.toldNoMoreThan(1);
    await other.toldNoMoreThan(0);
  },

  'passes over members whose client does not listen': async (bench, client) => {
    const [never, closed] = [bench.closedClient(), await bench.client()];
    await closed.inbox.close();
    acquired(await bench.acquire('a'));
    if ((await bench.wait(never.member())).place.listening === undefined) return;
    await bench.wait(closed.member());
    const [member, second] = [client.member(), client.member()];
    await bench.wait(member);
    await bench.wait(second);
    await bench.free('a');
    const state = await bench.holder();
    assert.equal(state.holder, member);
    assert.equal(state.queued, 1);
    assert.equal((await client.told()).token, state.token);
  },

  'frees the key when nobody in the queue listens': async (bench) => {
    acquired(await bench.acquire('a'));
    if ((await bench.wait(bench.closedClient().member())).place.listening === undefined) return;
    await bench.free('a');
    assert.ok(await bench.isFree());
    acquired(await bench.acquire('b'));
    assert.equal((await bench.holder()).queued, 0);
  },

  'does not pass over a member that is uncountable': async (bench) => {
    const member = bench.closedClient().member();
    acquired(await bench.acquire('a'));
    const { arrival } = (await bench.wait(member)).place;
    const { place, queued } = await bench.wait(member, { arrival, uncountable: true });
    assert.deepEqual([queued, place.arrival, place.rejoined], [1, arrival, false], 'it keeps its place');
    await bench.free('a');
    const state = await bench.holder();
    assert.equal(state.holder, member);
    assert.equal(acquired(await bench.acquire(member)).token, state.token);
  },

  'gives a member that asks again its grant, which stays to be confirmed': async (bench, client) => {
    const member = client.member();
    const token = await bench.grantTo(member);
    for (const queue of [{}, undefined]) {
      const reply = acquired(await bench.acquire(member, { queue }));
      assert.equal(reply.token, token);
      assert.equal(reply.granted, true);
      assert.ok(reply.remainingMs > 0 && reply.remainingMs <= GRANT_CONFIRM_MS, 'until it is void');
    }
    assert.equal((await bench.holder()).queued, 0);
  },

  'passes on what was granted to a member that leaves': async (bench, client) => {
    const [first, second] = [client.member(), client.member()];
    const token = await bench.grantTo(first);
    await bench.wait(second);
    await bench.free(first);
    assert.equal((await client.told()).member, first);
    const grant = await client.told(2);
    assert.equal(grant.member, second);
    assert.ok(grant.token > token);
    assert.equal((await bench.holder()).token, grant.token);
  },

  'passes a free key on when a release comes too late': async (bench, client) => {
    const { token } = acquired(await bench.acquire('a', { leaseMs: SHORT }));
    const member = client.member();
    await bench.wait(member);
    await bench.untilFree();
    assert.deepEqual(await bench.release('a', { token }), { status: 'lost' });
    assert.equal((await client.told()).member, member);
    assert.equal((await bench.holder()).holder, member);
  },

  'makes a grant an ordinary lease with the first renewal': async (bench, client) => {
    const member = client.member();
    const token = await bench.grantTo(member);
    assert.deepEqual(await bench.renew(member, token - 1), { status: 'gone' });
    const short = await bench.renew(member, token, 100);
    assert.ok(short.status === 'renewed' && short.remainingMs > SHORT, 'what was promised is not shortened');
    assert.ok(!acquired(await bench.acquire(member)).granted, 'it is confirmed');
    const long = await bench.renew(member, token);
    assert.ok(long.status === 'renewed' && long.remainingMs > LEASE - 5_000 && long.remainingMs <= LEASE);
    await pause(GRANT_CONFIRM_MS + SHORT);
    const state = await bench.holder();
    assert.equal(state.token, token);
    assert.ok(state.remainingMs > LEASE - GRANT_CONFIRM_MS - 5_000);
  },

  'voids a grant that is not confirmed in time, and drops its client from the queue': async (bench, client) => {
    const other = await bench.client();
    const [alone, asked, released] = [bench, bench.another(), bench.another()];
    const [first, second, third] = [client.member(), client.member(), other.member()];
    const benches = [alone, asked, released];
    const [token = 0] = await Promise.all(benches.map(async (each) => each.grantTo(first)));
    for (const each of [asked, released]) {
      await each.wait(second);
      await each.wait(third);
    }
    await pause(GRANT_CONFIRM_MS - 1_000);
    for (const each of benches) assert.equal((await each.holder()).holder, first, 'it has its time');
    await pause(1_000 + SHORT);
    for (const each of benches) assert.ok(await each.isFree());

    assert.deepEqual(await alone.renew(first, token), { status: 'gone' });
    assert.ok(await alone.isFree(), 'a renewal revives nothing');
    assert.deepEqual(await alone.release(first, { token }), { status: 'lost' }, 'nor is there anything to release');
    assert.ok(acquiredInFull(await alone.acquire(first)).token > token, 'an acquire does not adopt it');

    const reply = held(await asked.acquire('a'));
    assert.equal(reply.holder, third, 'what else the client had in the queue is gone');
    assert.equal(reply.queued, 0);
    assert.deepEqual(await released.release(first), { status: 'lost' });
    assert.equal((await released.holder()).holder, third);
    await other.told(2);
  },
};
