import assert from 'node:assert/strict';
import { LockUnavailableError } from '../../lock/lock.errors.js';
import { RESERVED_TOKENS } from '../../stores/lock-store.js';
import { acquired, held, LEASE, type Bench } from './bench.js';

/** Who owns a key, and by which token. */
export const lockChecks: Record<string, (bench: Bench) => Promise<void>> = {
  'gives a free key to the first member and says to the second who holds it': async (bench) => {
    const first = acquired(await bench.acquire('a'));
    const second = held(await bench.acquire('b'));
    assert.deepEqual({ ...(await bench.store.inspect(bench.key)), remainingMs: 0 }, { ...second, remainingMs: 0 });
    assert.equal(second.holder, 'a');
    assert.equal(second.token, first.token);
    assert.equal(second.queued, 0, 'one attempt leaves nothing behind');
    assert.equal(second.place, undefined);
    assert.ok(second.remainingMs > 0 && second.remainingMs <= LEASE);
  },

  'gives the owner that asks again the same token': async (bench) => {
    const first = acquired(await bench.acquire('a'));
    await bench.untilRemaining(LEASE - 50);
    const again = acquired(await bench.acquire('a'));
    assert.equal(again.token, first.token);
    assert.ok(!first.granted && !again.granted, 'nobody granted it');
    assert.ok(again.remainingMs < LEASE, 'what is left of the lease, which a repetition does not extend');
    await bench.free('a');
    assert.ok(await bench.isFree(), 'one release frees a key that was acquired twice');
  },

  'does nothing for a caller that has gone': async (bench) => {
    const { key, store } = bench;
    const command = { key, member: 'a', leaseMs: LEASE, withinMs: 10_000, stillWanted: () => false };
    await assert.rejects(store.acquire(command), LockUnavailableError);
    assert.deepEqual(await store.inspect(key), { status: 'free' });
  },

  'mints tokens that grow, are safe integers and tell the time of the acquisition': async (bench) => {
    let highest = 0;
    for (const member of ['a', 'b', 'c', 'd']) {
      const { token } = acquired(await bench.acquire(member));
      assert.ok(Number.isSafeInteger(token) && token > highest, `${token} after ${highest}`);
      highest = token;
      await bench.release(member);
    }
    assert.ok(Math.abs(highest / 1000 - Date.now()) < 60_000, 'the clock of the store is within a minute of ours');
  },

  'never mints the numbers that are reserved for an earlier token': async (bench) => {
    let highest = 0;
    for (let n = 0; n < 50; n++) {
      const { token } = acquired(await bench.acquire(`m${n}`));
      assert.ok(token > highest + RESERVED_TOKENS, `${token} after ${highest}`);
      highest = token;
      await bench.release(`m${n}`);
    }
  },

  'does not let a member release what another holds': async (bench) => {
    acquired(await bench.acquire('a'));
    assert.deepEqual(await bench.release('b'), { status: 'lost' });
    assert.equal(held(await bench.acquire('b')).holder, 'a');
  },

  'does not let an old token release or renew the lock': async (bench) => {
    const { token } = acquired(await bench.acquire('a'));
    assert.deepEqual(await bench.release('a', { token: token - 1 }), { status: 'lost' });
    assert.deepEqual(await bench.renew('a', token - 1), { status: 'gone' });
    assert.equal(held(await bench.acquire('b')).token, token);
  },

  'releases with the token, and a second release finds nothing': async (bench) => {
    const { token } = acquired(await bench.acquire('a'));
    assert.deepEqual(await bench.release('a', { token }), { status: 'released' });
    assert.deepEqual(await bench.release('a', { token }), { status: 'lost' });
  },

  'keeps keys apart': async (bench) => {
    const keys = UNUSUAL_KEYS.map((key) => `${bench.key}${key}`);
    for (const [index, key] of keys.entries()) acquired(await bench.acquire(`m${index}`, { key }));
    for (const [index, key] of keys.entries())
      assert.deepEqual(await bench.release(`m${index}`, { key }), { status: 'released' }, key);
  },
};

const UNUSUAL_KEYS = [
  '',
  ':x',
  '}{',
  '{a}b',
  'a{}b',
  '{',
  ' ',
  '"\'',
  '\n',
  '\0',
  '💰',
  '订单',
  '__proto__',
  'constructor',
  '\\',
  '\\(',
  'x'.repeat(900),
];
