import { expect, test } from '@jest/globals';
import { LockAbortedError, LockUnavailableError, RESERVED_TOKENS, type LockHandle } from 'nestjs-redis-lock';
import { setImmediate as turn } from 'node:timers/promises';
import { describeWithRedisServer } from '../support/redis.js';
import { waitFor } from '../support/wait-for.js';
import { LockFixture, rejection, timed } from './support/lock-fixture.js';

describeWithRedisServer('Obtaining: replies that are lost or late', () => {
  const fixture = LockFixture.use();

  test('case 1: the reply to an acquire is lost and the command is sent again → one hold, and one release frees the key', async () => {
    const { proxy, client } = await fixture.clientBehindProxy();
    const log = await fixture.commandLog();
    proxy.dropReplies(1);

    const lock = await client.acquire('order', { ttl: '1m', wait: '30s' });
    expect(await log.scripts()).toEqual(['acquire', 'acquire']);
    expect(await fixture.holds('order')).toEqual([expect.stringMatching(new RegExp(`/${lock.fencingToken}$`))]);
    // One token was minted, not two, and the numbers that are reserved with it.
    expect(await fixture.redis.get(`${fixture.prefix}:fence`)).toBe(String(lock.fencingToken + RESERVED_TOKENS));

    expect(await lock.release()).toBe('released');
    await fixture.expectNothingLeft();
  });

  test('case 1: the reply to an acquire is late and the command is sent again → one hold, and one release frees the key', async () => {
    const { proxy, client } = await fixture.clientBehindProxy();
    const log = await fixture.commandLog();
    proxy.holdReplies();

    const acquiring = client.acquire('order', { ttl: '1m', wait: '30s' });
    await waitFor(async () => (await log.count('acquire')) === 2);
    expect(await fixture.holds('order')).toHaveLength(1);
    proxy.releaseReplies();

    const lock = await acquiring;
    expect(await fixture.holds('order')).toEqual([expect.stringMatching(new RegExp(`/${lock.fencingToken}$`))]);
    expect(await lock.release()).toBe('released');
    await fixture.expectNothingLeft();
  });

  test('case 1: the reply to a release is lost and the command is sent again → released, and a new owner is left alone', async () => {
    const { proxy, client } = await fixture.clientBehindProxy();
    const next = fixture.client();
    const lock = await client.acquire('order', { ttl: '1m' });
    const waiting = next.acquire('order', { ttl: '1m', wait: '30s' });

    proxy.dropReplies(1);
    const outcome = await lock.release();
    const theirs = await waiting;
    expect(outcome).toBe('released');
    expect(await fixture.holds('order')).toEqual([expect.stringMatching(new RegExp(`/${theirs.fencingToken}$`))]);
    await theirs.release();
    await fixture.expectNothingLeft();
  });

  test('case 2: aborted while the acquire is on its way → told at once, and the key is free a round trip later', async () => {
    const { proxy, client } = await fixture.clientBehindProxy();
    const caller = new AbortController();
    const reason = new Error('The caller went away');
    proxy.holdReplies();

    const acquiring = rejection(client.acquire('order', { ttl: '1m', wait: '1m', signal: caller.signal }));
    await waitFor(async () => !(await fixture.isFree('order')));
    const { result: error, ms } = await timed(async () => {
      caller.abort(reason);
      return acquiring;
    });
    expect(error).toBeInstanceOf(LockAbortedError);
    expect(error).toMatchObject({ key: 'order', cause: reason });
    expect(ms).toBeLessThan(250);

    // Redis was told although it has not answered yet.
    await waitFor(async () => fixture.isFree('order'));
    proxy.releaseReplies();
    await fixture.expectNothingLeft();
  });

  test('case 2: the time to wait ends while the acquire is on its way → unreachable, and the key is free a round trip later', async () => {
    const { proxy, client } = await fixture.clientBehindProxy();
    proxy.holdReplies();

    const acquiring = rejection(client.acquire('order', { ttl: '1m', wait: 300 }));
    await waitFor(async () => !(await fixture.isFree('order')));
    expect(await acquiring).toBeInstanceOf(LockUnavailableError);

    await waitFor(async () => fixture.isFree('order'));
    proxy.releaseReplies();
    await fixture.expectNothingLeft();
  });

  test('case 2: the command of a caller who has given up is carried out late → what it took is given back', async () => {
    const client = fixture.client();
    await fixture.connected(client);
    const caller = new AbortController();
    fixture.server.pause();

    const acquiring = rejection(client.acquire('order', { ttl: '1m', wait: '1m', signal: caller.signal }));
    await turn();
    caller.abort();
    expect(await acquiring).toBeInstanceOf(LockAbortedError);
    fixture.server.resume();
    await fixture.expectNothingLeft();
    // Redis did carry it out: it counted a token.
    expect(await fixture.redis.exists(`${fixture.prefix}:fence`)).toBe(1);
  });

  test('case 2: a thousand callers abort at random moments → no key, no renewal, no map entry is left', async () => {
    const client = fixture.client({ backoff: { initial: 1, max: 8 } });
    const somebody = await fixture.client().acquire('key 0', { ttl: '1m' });
    const log = await fixture.commandLog();
    const outcomes: unknown[] = [];

    for (let round = 0; round < 100; round++) {
      const callers = Array.from({ length: 10 }, async (_, caller) => {
        const controller = new AbortController();
        const options = { ttl: '1m', wait: '1m', signal: controller.signal } as const;
        const acquiring = client.acquire(`key ${caller % 5}`, options).then(
          async (lock: LockHandle) => lock.release(),
          (error: unknown) => error,
        );
        for (let turns = Math.random() * 12; turns > 0; turns--) await turn();
        controller.abort();
        outcomes.push(await acquiring);
      });
      await Promise.all(callers);
    }

    const aborted = outcomes.filter((outcome) => outcome instanceof LockAbortedError);
    const released = outcomes.filter((outcome) => outcome === 'released');
    expect(aborted.length + released.length).toBe(1_000);
    // All kinds of moments: after the lock was there, while its command was on its way, while the caller waited.
    expect(released.length).toBeGreaterThan(0);
    expect((await log.calls()).some(({ script, args }) => script === 'release' && args[1] === '')).toBe(true);

    await somebody.release();
    await fixture.expectNothingLeft();
  });
});
