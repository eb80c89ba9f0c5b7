import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { LockUnavailableError } from '../lock/lock.errors.js';
import type { AcquireReply, HeldReply, LockState, LockStore } from '../stores/lock-store.js';

/** What a check works on. */
export interface StoreUnderTest {
  readonly store: LockStore;
  /** Ends what {@link StoreContractOptions.open} opened. */
  close(): Promise<void>;
}

/** One check of the contract: give `name` and `run` to the test runner. */
export interface StoreCheck {
  readonly name: string;
  readonly run: () => Promise<void>;
}

const LEASE = 30_000;
const SHORT = 200;

/**
 * The contract of a {@link LockStore}, as checks for any test runner. Each opens a store of its own.
 * @example
 * ```ts
 * for (const { name, run } of storeContract(async () => ({ store, close: () => store.close() }))) it(name, run);
 * ```
 */
export function storeContract(open: () => Promise<StoreUnderTest>): StoreCheck[] {
  const checks: StoreCheck[] = [];
  const check = (name: string, body: (bench: Bench) => Promise<void>): void => {
    checks.push({
      name,
      run: async () => {
        const opened = await open();
        try {
          await body(new Bench(opened.store));
        } finally {
          await opened.close();
        }
      },
    });
  };

  check('gives a free key to the first member and says to the second who holds it', async (bench) => {
    const first = acquired(await bench.acquire('a'));
    const second = held(await bench.acquire('b'));
    assert.deepEqual({ ...(await bench.store.inspect(bench.key)), remainingMs: 0 }, { ...second, remainingMs: 0 });
    assert.equal(second.holder, 'a');
    assert.equal(second.token, first.token);
    assert.ok(second.remainingMs > 0 && second.remainingMs <= LEASE);
  });

  check('gives the owner that asks again the same token', async (bench) => {
    const first = acquired(await bench.acquire('a'));
    await bench.untilRemaining(LEASE - 50);
    const again = acquired(await bench.acquire('a'));
    assert.equal(again.token, first.token);
    assert.ok(again.remainingMs < LEASE, 'what is left of the lease, which a repetition does not extend');
    assert.equal(await bench.release('a'), 'released', 'one release frees a key that was acquired twice');
    assert.deepEqual(await bench.store.inspect(bench.key), { status: 'free' });
  });

  check('does nothing for a caller that has gone', async (bench) => {
    const { key, store } = bench;
    const command = { key, member: 'a', leaseMs: LEASE, withinMs: 10_000, stillWanted: () => false };
    await assert.rejects(store.acquire(command), LockUnavailableError);
    assert.deepEqual(await store.inspect(key), { status: 'free' });
  });

  check('mints tokens that grow, are safe integers and tell the time of the acquisition', async (bench) => {
    let highest = 0;
    for (const member of ['a', 'b', 'c', 'd']) {
      const { token } = acquired(await bench.acquire(member));
      assert.ok(Number.isSafeInteger(token) && token > highest, `${token} after ${highest}`);
      highest = token;
      await bench.release(member);
    }
    assert.ok(Math.abs(highest / 1000 - Date.now()) < 60_000, 'the clock of the store is within a minute of ours');
  });

  check('does not let a member release what another holds', async (bench) => {
    acquired(await bench.acquire('a'));
    assert.equal(await bench.release('b'), 'lost');
    assert.equal(held(await bench.acquire('b')).holder, 'a');
  });

  check('does not let an old token release or renew the lock', async (bench) => {
    const { token } = acquired(await bench.acquire('a'));
    assert.equal(await bench.store.release({ key: bench.key, member: 'a', token: token - 1, minHoldMs: 0 }), 'lost');
    assert.deepEqual(await bench.renew('a', token - 1), { status: 'gone' });
    assert.equal(held(await bench.acquire('b')).token, token);
  });

  check('releases with the token, and a second release finds nothing', async (bench) => {
    const { token } = acquired(await bench.acquire('a'));
    const command = { key: bench.key, member: 'a', token, minHoldMs: 0 };
    assert.equal(await bench.store.release(command), 'released');
    assert.equal(await bench.store.release(command), 'lost');
  });

  check('frees a key when its lease ends', async (bench) => {
    const { token } = acquired(await bench.acquire('a', SHORT));
    const next = await bench.acquireEventually('b');
    assert.ok(next.token > token);
    assert.equal(await bench.release('a'), 'lost');
  });

  check('extends a lease and never shortens one', async (bench) => {
    const { token } = acquired(await bench.acquire('a', 5_000));
    const longer = await bench.renew('a', token, LEASE);
    assert.ok(longer.status === 'renewed' && longer.remainingMs > LEASE - 5_000 && longer.remainingMs <= LEASE);
    const shorter = await bench.renew('a', token, 1_000);
    assert.ok(shorter.status === 'renewed' && shorter.remainingMs > LEASE - 5_000);
    assert.ok(held(await bench.acquire('b')).remainingMs > LEASE - 5_000);
  });

  check('does not revive a lease that has ended', async (bench) => {
    const { token } = acquired(await bench.acquire('a', SHORT));
    await bench.untilFree();
    assert.deepEqual(await bench.renew('a', token), { status: 'gone' });
    assert.deepEqual(await bench.store.inspect(bench.key), { status: 'free' });
    acquired(await bench.acquireEventually('b'));
    assert.deepEqual(await bench.renew('a', token), { status: 'gone' });
    assert.equal(held(await bench.acquire('c')).holder, 'b');
  });

  check('keeps a key closed until minHold is over, for the former holder too', async (bench) => {
    const { token } = acquired(await bench.acquire('a'));
    assert.equal(await bench.store.release({ key: bench.key, member: 'a', token, minHoldMs: 300 }), 'kept');
    assert.equal(held(await bench.acquire('b')).token, 0, 'nobody works under it');
    assert.equal((await bench.acquire('a')).status, 'held');
    assert.deepEqual(await bench.renew('a', token), { status: 'gone' });
    assert.equal(await bench.release('a'), 'lost');
    assert.ok((await bench.acquireEventually('b')).token >= token + 290_000, 'not before minHold was over');
  });

  check('does not lengthen a lease to keep minHold', async (bench) => {
    const { token } = acquired(await bench.acquire('a', SHORT));
    assert.equal(await bench.store.release({ key: bench.key, member: 'a', token, minHoldMs: LEASE }), 'kept');
    assert.ok(held(await bench.acquire('b')).remainingMs <= SHORT);
    acquired(await bench.acquireEventually('b'));
  });

  check('keeps keys apart', async (bench) => {
    for (const [index, key] of UNUSUAL_KEYS.entries())
      acquired(await bench.acquire(`m${index}`, LEASE, `${bench.key}${key}`));
    for (const [index, key] of UNUSUAL_KEYS.entries())
      assert.equal(await bench.release(`m${index}`, `${bench.key}${key}`), 'released', key);
  });

  check('answers renewals of several keys one by one', async (bench) => {
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
  });

  return checks;
}

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

/** A store and a key of its own. */
class Bench {
  readonly key = `contract-${randomUUID()}`;

  constructor(readonly store: LockStore) {}

  acquire(member: string, leaseMs = LEASE, key = this.key): Promise<AcquireReply> {
    return this.store.acquire({ key, member, leaseMs, withinMs: 10_000 });
  }

  async acquireEventually(member: string): Promise<AcquireReply & { status: 'acquired' }> {
    for (let attempt = 0; attempt < 1_000; attempt++) {
      const reply = await this.acquire(member);
      if (reply.status === 'acquired') return reply;
      await pause(Math.max(1, Math.min(50, reply.remainingMs)));
    }
    return assert.fail('the key did not become free');
  }

  async untilFree(): Promise<void> {
    await this.until((state) => state.status === 'free');
  }

  async untilRemaining(ms: number): Promise<void> {
    await this.until((state) => state.status === 'free' || state.remainingMs <= ms);
  }

  private async until(reached: (state: LockState) => boolean): Promise<void> {
    for (let attempt = 0; !reached(await this.store.inspect(this.key)); attempt++) {
      assert.ok(attempt < 1_000, 'the lease does not run down');
      await pause(10);
    }
  }

  release(member: string, key = this.key): Promise<string> {
    return this.store.release({ key, member, minHoldMs: 0 });
  }

  renew(member: string, token: number, leaseMs = LEASE): Promise<Awaited<ReturnType<LockStore['renew']>[number]>> {
    const [reply] = this.store.renew([{ key: this.key, member, token, leaseMs }]);
    return reply ?? assert.fail('one promise for each command');
  }
}

function acquired(reply: AcquireReply): AcquireReply & { status: 'acquired' } {
  return reply.status === 'acquired' ? reply : assert.fail(`not acquired, but held by ${reply.holder}`);
}

function held(reply: AcquireReply): HeldReply {
  return reply.status === 'held' ? reply : assert.fail('acquired, although another member holds it');
}
