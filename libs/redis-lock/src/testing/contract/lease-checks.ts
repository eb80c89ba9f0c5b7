import assert from 'node:assert/strict';
import { acquired, held, LEASE, SHORT, type Bench } from './bench.js';

/** How long a member owns a key, and `minHold`. */
export const leaseChecks: Record<string, (bench: Bench) => Promise<void>> = {
  'frees a key when its lease ends': async (bench) => {
    const { token } = acquired(await bench.acquire('a', { leaseMs: SHORT }));
    const next = await bench.acquireEventually('b');
    assert.ok(next.token > token);
    assert.deepEqual(await bench.release('a'), { status: 'lost' });
  },

  'extends a lease and never shortens one': async (bench) => {
    const { token } = acquired(await bench.acquire('a', { leaseMs: 5_000 }));
    const longer = await bench.renew('a', token, LEASE);
    assert.ok(longer.status === 'renewed' && longer.remainingMs > LEASE - 5_000 && longer.remainingMs <= LEASE);
    const shorter = await bench.renew('a', token, 1_000);
    assert.ok(shorter.status === 'renewed' && shorter.remainingMs > LEASE - 5_000);
    assert.ok(held(await bench.acquire('b')).remainingMs > LEASE - 5_000);
  },

  'does not revive a lease that has ended': async (bench) => {
    const { token } = acquired(await bench.acquire('a', { leaseMs: SHORT }));
    await bench.untilFree();
    assert.deepEqual(await bench.renew('a', token), { status: 'gone' });
    assert.deepEqual(await bench.store.inspect(bench.key), { status: 'free' });
    acquired(await bench.acquireEventually('b'));
    assert.deepEqual(await bench.renew('a', token), { status: 'gone' });
    assert.equal(held(await bench.acquire('c')).holder, 'b');
  },

  'keeps a key closed until minHold is over, for the former holder too': async (bench) => {
    const { token } = acquired(await bench.acquire('a'));
    assert.deepEqual(await bench.release('a', { token, minHoldMs: 1_000 }), { status: 'kept' });
    assert.equal(held(await bench.acquire('b')).token, 0, 'nobody works under it');
    assert.equal((await bench.acquire('a')).status, 'held');
    assert.deepEqual(await bench.renew('a', token), { status: 'gone' });
    assert.deepEqual(await bench.release('a'), { status: 'lost' });
    assert.ok((await bench.acquireEventually('b')).token >= token + 990_000, 'not before minHold was over');
  },

  'does not lengthen a lease to keep minHold': async (bench) => {
    const { token } = acquired(await bench.acquire('a', { leaseMs: 2_000 }));
    assert.deepEqual(await bench.release('a', { token, minHoldMs: LEASE }), { status: 'kept' });
    assert.ok(held(await bench.acquire('b')).remainingMs <= 2_000);
    acquired(await bench.acquireEventually('b'));
  },

  'answers renewals of several keys one by one': async (bench) => {
    const { token } = acquired(await bench.acquire('a'));
    const replies = await Promise.all(
      bench.store.renew([
        { key: bench.key, member: 'a', token, leaseMs: LEASE },
        { key: `${bench.key}:none`, member: 'a', token, leaseMs: LEASE },
      ]),
    );
    assert.deepEqual(
      replies.map(({ status }) => status),
      ['renewed', 'gone'],
    );
  },
};
