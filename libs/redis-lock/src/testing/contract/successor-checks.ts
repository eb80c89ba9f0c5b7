import assert from 'node:assert/strict';
import type { Successor } from '../../stores/lock-store.js';
import { acquired, acquiredInFull, held, LEASE, waiting, type Bench } from './bench.js';
import type { ContractClient } from './client.js';

/** What a release does for the next member of its own client. Each check gets a client whose inbox is open. */
export const successorChecks: Record<string, (bench: Bench, client: ContractClient) => Promise<void>> = {
  'makes a successor that is the first in the queue the owner with the answer': async (bench, client) => {
    const { token } = acquired(await bench.acquire('a'));
    const successor = successorOf(client);
    const reply = await bench.release('a', { token, successor });
    assert.equal(reply.status, 'released');
    const own = acquiredInFull(reply.successor);
    assert.ok(own.token > token);
    const state = await bench.holder();
    assert.deepEqual([state.holder, state.token, state.queued], [successor.member, own.token, 0]);
    assert.ok(state.remainingMs > LEASE - 5_000, 'there is nothing to confirm');
    await client.toldNoMoreThan(0);
  },

  'queues a successor behind others, and tells it when it is its turn': async (bench, client) => {
    const other = await bench.client();
    acquired(await bench.acquire('a'));
    const first = other.member();
    const { arrival } = (await bench.wait(first)).place;
    const successor = successorOf(client);
    const reply = await bench.release('a', { successor });
    assert.equal(reply.status, 'released');
    const { holder, token, queued, place } = waiting(reply.successor);
    assert.deepEqual([holder, queued, place.rejoined], [first, 1, false]);
    assert.ok(place.arrival > arrival);
    assert.notEqual(place.listening, false);
    assert.equal((await other.told()).token, token);
    await client.toldNoMoreThan(0);
    await bench.free(first);
    assert.equal((await client.told()).member, successor.member);
  },

  'gives a successor the place of its arrival number': async (bench, client) => {
    acquired(await bench.acquire('a'));
    const lost = client.member();
    const { arrival } = (await bench.wait(lost)).place;
    const second = client.member();
    await bench.wait(second);
    await bench.release(lost);
    const successor = { ...successorOf(client), arrival };
    acquiredInFull((await bench.release('a', { successor })).successor);
    const state = await bench.holder();
    assert.deepEqual([state.holder, state.queued], [successor.member, 1]);
  },

  'queues no successor of a lock that was lost': async (bench, client) => {
    const { token } = acquired(await bench.acquire('a'));
    for (const [member, wrong] of [['a', token - 1] as const, ['b', undefined] as const])
      assert.deepEqual(await bench.release(member, { token: wrong, successor: successorOf(client) }), LOST);
    const state = await bench.holder();
    assert.deepEqual([state.holder, state.queued], ['a', 0]);
    await bench.free('a');
    assert.deepEqual(await bench.release('a', { token, successor: successorOf(client) }), LOST);
    assert.ok(await bench.isFree(), 'nor does it get a free key');
  },

  'queues a successor behind minHold': async (bench, client) => {
    const { token } = acquired(await bench.acquire('a'));
    const successor = successorOf(client);
    const reply = await bench.release('a', { token, minHoldMs: 300, successor });
    assert.equal(reply.status, 'kept');
    const rest = waiting(reply.successor);
    assert.deepEqual([rest.token, rest.queued, rest.place.rejoined], [0, 1, false]);
    assert.ok(rest.remainingMs <= 300);
    assert.equal(held(await bench.acquire('b')).queued, 1);
    await bench.untilFree();
    const { arrival } = rest.place;
    assert.ok(acquiredInFull(await bench.acquire(successor.member, { queue: { arrival } })).token >= token + 290_000);
  },

  'gives a successor the key when nobody before it listens': async (bench, client) => {
    acquired(await bench.acquire('a'));
    if ((await bench.wait(bench.closedClient().member())).place.listening === undefined) return;
    acquiredInFull((await bench.release('a', { successor: successorOf(client) })).successor);
    assert.equal((await bench.holder()).queued, 0);
  },
};

const LOST = { status: 'lost' };

function successorOf(client: ContractClient): Successor {
  return { member: client.member(), leaseMs: LEASE };
}
