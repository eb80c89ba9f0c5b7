import assert from 'node:assert/strict';
import { RESERVED_TOKENS } from '../../stores/lock-store.js';
import { acquired, acquiredInFull, held, SHORT, type Bench } from './bench.js';
import type { ContractClient } from './client.js';
import { until } from './until.js';

/** Who waits, and at which place. Each check gets a client whose inbox is open. */
export const queueChecks: Record<string, (bench: Bench, client: ContractClient) => Promise<void>> = {
  'opens an inbox when it is told to, and says so each time': async (bench) => {
    const client = bench.closedClient();
    acquired(await bench.acquire('a'));
    const member = client.member();
    const { listening } = (await bench.wait(member)).place;
    assert.notEqual(listening, true, 'it is closed at first');
    await client.toldNoMoreThan(0);
    assert.equal(client.opened, 0);
    for (let times = 1; times <= 2; times++) {
      assert.ok(await client.open());
      assert.notEqual((await bench.wait(member)).place.listening, false);
    }
    await client.inbox.close();
    await until('it is closed again', async () => (await bench.wait(member)).place.listening === listening);
  },

  'queues who asks to wait behind the holder, under arrival numbers that grow': async (bench, client) => {
    const { token } = acquired(await bench.acquire('a'));
    const first = await bench.wait(client.member());
    assert.equal(first.holder, 'a');
    assert.equal(first.token, token);
    assert.equal(first.queued, 1);
    assert.equal(first.place.rejoined, false);
    assert.ok(Number.isSafeInteger(first.place.arrival) && first.place.arrival > token + RESERVED_TOKENS);
    const second = await bench.wait(client.member());
    assert.equal(second.queued, 2);
    assert.ok(second.place.arrival > first.place.arrival);
    const passing = held(await bench.acquire('b'));
    assert.equal(passing.place, undefined, 'one attempt has no place');
    assert.equal(passing.queued, 2);
    assert.equal((await bench.holder()).queued, 2, 'nor does it leave one behind');
    assert.ok(acquired(await bench.another().acquire('a')).token > second.place.arrival, 'one counter for both');
  },

  'counts a member that asks again once, at the same place': async (bench, client) => {
    acquired(await bench.acquire('a'));
    const [first, second] = [client.member(), client.member()];
    const { arrival } = (await bench.wait(first)).place;
    await bench.wait(second);
    for (const queue of [{}, { arrival }]) {
      const again = await bench.wait(first, queue);
      assert.equal(again.queued, 2);
      assert.equal(again.place.arrival, arrival);
      assert.equal(again.place.rejoined, false, 'it was in the queue');
    }
    await bench.free('a');
    assert.equal((await bench.holder()).holder, first);
    assert.equal((await bench.holder()).queued, 1);
  },

  'serves in the order of the arrival numbers': async (bench, client) => {
    const clients = [client, await bench.client(), client];
    acquired(await bench.acquire('a'));
    const members = clients.map((each) => each.member());
    for (const member of members) await bench.wait(member);
    let holder = 'a';
    for (const member of members) {
      await bench.free(holder);
      holder = (await bench.holder()).holder;
      assert.equal(holder, member);
    }
    await bench.free(holder);
    assert.ok(await bench.isFree());
  },

  'gives who lost its place the place of its arrival number back': async (bench, client) => {
    acquired(await bench.acquire('a'));
    const [lost, second, again] = [client.member(), client.member(), client.member()];
    const { arrival } = (await bench.wait(lost)).place;
    await bench.wait(second);
    await bench.release(lost);
    const { place, queued } = await bench.wait(again, { arrival });
    assert.equal(queued, 2);
    assert.equal(place.rejoined, true);
    assert.equal(place.arrival, arrival);
    await bench.free('a');
    assert.equal((await bench.holder()).holder, again);
  },

  'takes a member that leaves out of the queue': async (bench, client) => {
    acquired(await bench.acquire('a'));
    const [first, second] = [client.member(), client.member()];
    await bench.wait(first);
    await bench.wait(second);
    assert.deepEqual(await bench.release(first), { status: 'lost' }, 'it did not own the lock');
    const state = await bench.holder();
    assert.equal(state.holder, 'a');
    assert.equal(state.queued, 1);
    await bench.free('a');
    assert.equal((await bench.holder()).holder, second);
  },

  'gives a free key to the first in the queue that asks, with its full lease': async (bench, client) => {
    acquired(await bench.acquire('a', { leaseMs: SHORT }));
    const member = client.member();
    await bench.wait(member);
    await bench.untilFree();
    acquiredInFull(await bench.acquire(member, { queue: {} }));
    await client.toldNoMoreThan(0);
    assert.equal((await bench.holder()).queued, 0);
  },

  'grants a free key to the first in the queue when somebody else asks': async (bench, client) => {
    for (const [n, queue] of [undefined, {}].entries()) {
      const passing = bench.another();
      acquired(await passing.acquire('a', { leaseMs: SHORT }));
      const [first, other] = [client.member(), client.member()];
      await passing.wait(first);
      await passing.untilFree();
      const reply = held(await passing.acquire(other, { queue }));
      assert.equal(reply.holder, first);
      assert.equal(reply.queued, n);
      assert.equal(reply.place !== undefined, queue !== undefined);
      assert.deepEqual(await client.told(n + 1), { key: passing.key, member: first, token: reply.token });
    }
  },

  'gives a free key to who asks once when nobody in the queue listens': async (bench) => {
    acquired(await bench.acquire('a', { leaseMs: SHORT }));
    if ((await bench.wait(bench.closedClient().member())).place.listening === undefined) return;
    await bench.untilFree();
    acquiredInFull(await bench.acquire('b'));
    assert.equal((await bench.holder()).queued, 0);
  },
};
