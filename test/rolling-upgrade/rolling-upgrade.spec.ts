import { afterEach, expect, test } from '@jest/globals';
import { LAYOUT_VERSION } from '../../libs/redis-lock/src/stores/redis/physical-key.js';
import { RedisLockStore } from '../../libs/redis-lock/src/stores/redis/redis.store.js';
import { acquireScript } from '../../libs/redis-lock/src/stores/redis/scripts/acquire.js';
import { inspectScript } from '../../libs/redis-lock/src/stores/redis/scripts/inspect.js';
import { releaseScript } from '../../libs/redis-lock/src/stores/redis/scripts/release.js';
import { renewScript } from '../../libs/redis-lock/src/stores/redis/scripts/renew.js';
import { LockFixture } from '../cases/support/lock-fixture.js';
import { openInboxes, queueOf, untilQueued } from '../faults/support/queue.js';
import { describeWithRedisServer } from '../support/redis.js';
import { waitFor } from '../support/wait-for.js';
import { FrozenClient, SCRIPTS_0_1, type ScriptTexts } from './frozen-client.js';

const MINUTE = 60_000;

describeWithRedisServer('Version 0.1 and this version side by side', () => {
  const fixture = LockFixture.use();
  const opened: { close(): unknown }[] = [];

  afterEach(async () => {
    await Promise.all(opened.splice(0).map(async (each) => each.close()));
  });

  async function old(scripts?: ScriptTexts, prefix = fixture.prefix): Promise<FrozenClient> {
    const client = await FrozenClient.connect(fixture.server.url, prefix, scripts);
    opened.push(client);
    return client;
  }

  /** The store of this version without a client, which could not be stopped from confirming a grant. */
  function store(): RedisLockStore {
    const made = new RedisLockStore({
      connection: fixture.server.url,
      prefix: fixture.prefix,
      commandTimeoutMs: 10_000,
      logger: { warn: () => {} },
    });
    opened.push(made);
    return made;
  }

  const tokenOf = (owner = ''): number => Number(owner.split('/')[1]);

  test('old holds, new waits, old releases → the old script has granted it to the new one', async () => {
    const [frozen, client] = [await old(), fixture.client()];
    await openInboxes(fixture, client);
    const member = frozen.nextMember();
    const [status, token] = await frozen.acquire('order', member, MINUTE);
    expect(status).toBe('acquired');
    expect(await client.isLocked('order')).toBe(true);
    await expect(client.acquire('order', { wait: 0 })).rejects.toMatchObject({
      code: 'LOCK_BUSY',
      holder: { holder: member },
    });
    const acquiring = client.acquire('order', { wait: '1m' });
    const [waiting] = await untilQueued(fixture, 'order', 1);
    expect(await frozen.release('order', member, String(token))).toEqual(['released']);
    const [granted] = await fixture.holds('order');
    expect(granted).toMatch(new RegExp(`^${waiting}/\\d{16}$`));
    const lock = await acquiring;
    expect(lock.fencingToken).toBe(tokenOf(granted));
    expect(lock.fencingToken).toBeGreaterThan(Number(token));
    expect(await lock.release()).toBe('released');
    await fixture.expectNothingLeft();
  });

  test('new holds, old waits, new releases → told in the words of 0.1, and what it was told holds', async () => {
    const [frozen, client] = [await old(), fixture.client()];
    const lock = await client.acquire('order', { ttl: '1m' });
    const member = frozen.nextMember();
    const answer = await frozen.acquire('order', member, MINUTE, '0');
    // The holder's field, its lease, how many wait; the place, not given anew, and that the inbox is open.
    const [field] = await fixture.holds('order');
    expect(answer).toEqual(['held', field, expect.any(Number), 1, expect.stringMatching(/^\d{16}$/), 0, 1]);
    expect(tokenOf(field)).toBe(lock.fencingToken);
    expect(await lock.release()).toBe('released');
    await waitFor(() => frozen.messages.length > 0);
    const [holds] = await fixture.holds('order');
    expect(frozen.messages).toEqual([`${tokenOf(holds)} ${member} ${fixture.redisKey('order')}`]);
    expect(holds).toBe(`${member}/${tokenOf(holds)}`);
    expect(tokenOf(holds)).toBeGreaterThan(lock.fencingToken);
    expect(await frozen.renew('order', String(holds), MINUTE)).toBe(MINUTE);
    expect(await fixture.fields('order')).toEqual([holds]);
    await expect(client.acquire('order', { wait: 0 })).rejects.toMatchObject({ code: 'LOCK_BUSY' });
    expect(await frozen.release('order', member, String(tokenOf(holds)))).toEqual(['released']);
    await fixture.expectNothingLeft();
  });

  test('a grant to an old process that does not confirm it → void for the new one after 3 s', async () => {
    const [frozen, holder, next] = [await old(), fixture.client(), fixture.client()];
    const lock = await holder.acquire('order', { ttl: '1m' });
    const silent = frozen.nextMember();
    for (const member of [silent, frozen.nextMember()]) await frozen.acquire('order', member, MINUTE, '0');
    const acquiring = next.acquire('order', { wait: '1m' });
    await untilQueued(fixture, 'order', 3);
    await lock.release();
    const granted = tokenOf((await fixture.holds('order'))[0]);
    const got = await acquiring;
    // Tokens are the time in µs: 3 s, and at most two polls; the other one of that process was not asked.
    expect(got.fencingToken - granted).toBeGreaterThanOrEqual(2_990_000);
    expect(got.fencingToken - granted).toBeLessThan(6_000_000);
    expect(frozen.messages).toHaveLength(1);
    expect(await frozen.renew('order', `${silent}/${granted}`, MINUTE)).toBe(-1);
    expect(await frozen.release('order', silent, String(granted))).toEqual(['lost']);
    expect(await got.release()).toBe('released');
    await fixture.expectNothingLeft();
  });

  test('a grant to a new process that does not confirm it → void for the old one after 3 s', async () => {
    const [frozen, silent] = [await old(), store()];
    const inbox = silent.grants('new-1-a', { granted: () => {}, opened: () => {}, refused: () => {} });
    inbox.open();
    const channel = `${fixture.prefix}:inbox:new-1-a`;
    await waitFor(async () => (await fixture.redis.pubsub('NUMSUB', channel))[1] === 1);
    const first = frozen.nextMember();
    const [, token] = await frozen.acquire('order', first, MINUTE);
    const queued = { key: 'order', member: 'new-1-a#1', leaseMs: MINUTE, withinMs: 10_000, queue: {} };
    expect(await silent.acquire(queued)).toMatchObject({ status: 'held', place: { listening: true } });
    const member = frozen.nextMember();
    const waiting = frozen.wait('order', member, MINUTE);
    await untilQueued(fixture, 'order', 2);
    await frozen.release('order', first, String(token));
    const granted = tokenOf((await fixture.holds('order'))[0]);
    const got = await waiting;
    expect(Number(got) - granted).toBeGreaterThanOrEqual(2_990_000);
    const [late] = silent.renew([{ key: 'order', member: 'new-1-a#1', token: granted, leaseMs: MINUTE }]);
    expect(await late).toEqual({ status: 'gone' });
    expect(await frozen.release('order', member, got)).toEqual(['released']);
    await fixture.expectNothingLeft();
  });

  test('each renews and releases only what is its own', async () => {
    const [frozen, ours] = [await old(), store()];
    const member = frozen.nextMember();
    const [, theirs] = await frozen.acquire('theirs', member, MINUTE);
    const own = await ours.acquire({ key: 'own', member: 'new-1-a#1', leaseMs: MINUTE, withinMs: 10_000 });
    const token = own.status === 'acquired' ? own.token : 0;
    const before = [await fixture.fields('theirs'), await fixture.fields('own')];

    expect(await frozen.renew('own', `${member}/${token}`, 2 * MINUTE)).toBe(-1);
    expect(await frozen.release('own', member, String(token))).toEqual(['lost']);
    expect(await frozen.release('own', member, '')).toEqual(['lost']);
    const foreign = { key: 'theirs', member: 'new-1-a#1', token: Number(theirs) };
    expect(await ours.renew([{ ...foreign, leaseMs: 2 * MINUTE }])[0]).toEqual({ status: 'gone' });
    expect(await ours.release({ ...foreign, minHoldMs: 0 })).toEqual({ status: 'lost' });
    expect(await ours.release({ key: 'theirs', member: 'new-1-a#1', minHoldMs: 0 })).toEqual({ status: 'lost' });
    expect([await fixture.fields('theirs'), await fixture.fields('own')]).toEqual(before);

    expect(await frozen.renew('theirs', `${member}/${String(theirs)}`, 2 * MINUTE)).toBe(2 * MINUTE);
    expect(await ours.renew([{ key: 'own', member: 'new-1-a#1', token, leaseMs: 2 * MINUTE }])[0]).toEqual({
      status: 'renewed',
      remainingMs: 2 * MINUTE,
    });
    expect(await frozen.inspect('own')).toEqual(['held', `new-1-a#1/${token}`, expect.any(Number), 0]);
    expect(await ours.inspect('theirs')).toMatchObject({ status: 'held', holder: member, token: Number(theirs) });
  });

  // Tokens are the server's time in µs; its clock for expiry may be some ms behind that.
  test('a lease that runs out → the other version gets the lock', async () => {
    const [frozen, client] = [await old(), fixture.client()];
    const [, first] = await frozen.acquire('order', frozen.nextMember(), 300);
    const lock = await client.acquire('order', { ttl: 300, renew: false, wait: '1m' });
    expect(lock.fencingToken - Number(first)).toBeGreaterThanOrEqual(250_000);
    const member = frozen.nextMember();
    const token = await frozen.wait('order', member, MINUTE);
    expect(Number(token) - lock.fencingToken).toBeGreaterThanOrEqual(250_000);
    expect(await lock.release()).toBe('lost');
    expect(await frozen.release('order', member, token)).toEqual(['released']);
    await fixture.expectNothingLeft();
  });

  test('minHold of one version is over before the other one begins', async () => {
    const [frozen, client] = [await old(), fixture.client()];
    const lock = await client.acquire('order', { ttl: '1m', minHold: 500 });
    expect(await lock.release()).toBe('kept');
    expect(await frozen.inspect('order')).toEqual(['held', '@rest', expect.any(Number), 0]);
    const member = frozen.nextMember();
    const token = await frozen.wait('order', member, MINUTE);
    expect(Number(token) - lock.fencingToken).toBeGreaterThanOrEqual(450_000);
    expect(await frozen.release('order', member, token, 1_000)).toEqual(['kept']);
    await expect(client.acquire('order', { wait: 0 })).rejects.toMatchObject({ holder: { holder: 'minHold' } });
    const next = await client.acquire('order', { wait: '1m' });
    expect(next.fencingToken - Number(token)).toBeGreaterThanOrEqual(950_000);
    expect(await next.release()).toBe('released');
    await fixture.expectNothingLeft();
  });

  test('who leaves the queue is passed over by the other version', async () => {
    const [frozen, holder, client] = [await old(), fixture.client(), fixture.client()];
    await openInboxes(fixture, client);
    const first = await holder.acquire('order', { ttl: '1m' });
    const leaving = new AbortController();
    const left = client.acquire('order', { wait: '1m', signal: leaving.signal }).catch((error: unknown) => error);
    await untilQueued(fixture, 'order', 1);
    const [gone, waiting] = [frozen.nextMember(), frozen.nextMember()];
    for (const member of [gone, waiting]) await frozen.acquire('order', member, MINUTE, '0');
    leaving.abort();
    expect(await left).toMatchObject({ code: 'LOCK_ABORTED' });
    await untilQueued(fixture, 'order', 2);
    expect(await frozen.release('order', gone, '')).toEqual(['lost']);
    expect(await queueOf(fixture, 'order')).toEqual([waiting]);
    await first.release();
    await waitFor(() => frozen.grantTo(waiting));
    expect(frozen.messages).toHaveLength(1);
    expect(await frozen.release('order', waiting, '')).toEqual(['released']);
    await fixture.expectNothingLeft();
  });

  test('many of both take turns → one at a time, everybody is served, tokens grow', async () => {
    const clients = [fixture.client(), fixture.client()];
    const olds = [await old(), await old()];
    const tokens: number[] = [];
    let inside = 0;
    let overlaps = 0;
    const work = async (token: number): Promise<void> => {
      if (++inside > 1) overlaps++;
      tokens.push(token);
      await new Promise((resolve) => setTimeout(resolve, 2));
      inside--;
    };
    const ofNew = clients.flatMap((client) =>
      Array.from({ length: 40 }, async () =>
        client.run('order', async ({ fencingToken }) => work(fencingToken), { wait: '1m' }),
      ),
    );
    const ofOld = olds.flatMap((frozen) =>
      Array.from({ length: 40 }, async () => {
        const member = frozen.nextMember();
        const token = await frozen.wait('order', member, MINUTE);
        await work(Number(token));
        expect(await frozen.release('order', member, token)).toEqual(['released']);
      }),
    );
    await Promise.all([...ofNew, ...ofOld]);
    expect([tokens.length, overlaps]).toEqual([160, 0]);
    expect(tokens).toEqual([...new Set(tokens)].sort((a, b) => a - b));
    await fixture.expectNothingLeft();
  });

  // Scripts may change in how they do it. Where this fails, they differ in what they write or say, and the two versions may
  // not exclude each other any more: make the new script understand the old way, or raise LAYOUT_VERSION
  // (physical-key.ts), say so in the changelog, and freeze the scripts of the new layout beside those of 0.1.
  test('what the scripts write, answer and publish is what those of 0.1 do (else: another LAYOUT_VERSION)', async () => {
    const ours = {
      acquire: acquireScript.lua,
      release: releaseScript.lua,
      renew: renewScript.lua,
      inspect: inspectScript.lua,
    };
    expect(LAYOUT_VERSION).toBe(1);
    const [before, now] = [await everythingOf(SCRIPTS_0_1, 'before'), await everythingOf(ours, 'now')];
    expect(now).toEqual(before);
    const steps = ['held', 'queued', 'granted', 'confirmed', 'unseen', 'passed on', 'resting', 'left'];
    expect(before.map(({ what }) => what)).toEqual(steps);
  });

  /** What stands in Redis after each step of a lock's life, and what was answered, without what differs each time. */
  async function everythingOf(scripts: ScriptTexts, name: string): Promise<{ what: string; state: string[] }[]> {
    const prefix = `${fixture.prefix}-${name}`;
    const [a, b] = [await old(scripts, prefix), await old(scripts, prefix)];
    const [m1, m2, m3, m4] = [a.nextMember(), b.nextMember(), b.nextMember(), a.nextMember()];
    const states: { what: string; state: string[] }[] = [];
    const plain = (value: unknown): string =>
      JSON.stringify(value)
        .replaceAll(prefix, '<prefix>')
        .replaceAll(a.instance, 'a')
        .replaceAll(b.instance, 'b')
        .replace(/\d{16}/g, '<token>')
        .replace(/\d{13}/g, '<ms>')
        // Leases, within what passes meanwhile.
        .replace(/(?<=[,:[])\d{3,6}(?=[,\]])/g, (ms) => `up to ${Math.ceil(Number(ms) / 5_000) * 5} s`);
    const note = async (what: string, ...answers: unknown[]): Promise<void> => {
      const state: string[] = answers.map(plain);
      for (const key of (await fixture.redis.keys(`${prefix}*`)).sort()) {
        const type = await fixture.redis.type(key);
        const content =
          type === 'hash'
            ? Object.entries(await fixture.redis.hgetall(key)).sort(([one], [other]) => (one < other ? -1 : 1))
            : type === 'zset'
              ? await fixture.redis.zrange(key, 0, -1, 'WITHSCORES')
              : await fixture.redis.get(key);
        state.push(plain([key, type, content, await fixture.redis.pttl(key)]));
      }
      state.push(plain([a.messages, b.messages]), plain(await a.inspect('order')));
      states.push({ what, state });
    };

    const held = await a.acquire('order', m1, MINUTE);
    const token = String(held[1]);
    await note('held', held, await a.acquire('order', m1, MINUTE));
    const queued = [await b.acquire('order', m2, MINUTE, '0'), await b.acquire('order', m3, MINUTE, '0')];
    await note('queued', ...queued);
    const released = await a.release('order', m1, token);
    await waitFor(() => b.messages.length === 1);
    await note('granted', released, await b.acquire('order', m2, MINUTE, '0'));
    const granted = b.grantTo(m2) ?? '';
    await note('confirmed', await b.renew('order', `${m2}/${granted}`, MINUTE));
    const unseen = await a.acquire('order', m1, MINUTE, '0', '!');
    await note('unseen', unseen, await a.release('order', m1, ''));
    const passedOn = await b.release('order', m2, granted, 0, { member: m4, leaseMs: MINUTE });
    await waitFor(() => b.messages.length === 2);
    await note('passed on', passedOn);
    const last = b.grantTo(m3) ?? '';
    await b.renew('order', `${m3}/${last}`, MINUTE);
    await note('resting', await b.release('order', m3, last, MINUTE), await b.renew('order', `${m3}/${last}`, MINUTE));
    await note('left', await a.release('order', m4, ''), await a.release('order', m1, token));
    return states;
  }
});
