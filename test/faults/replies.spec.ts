import { expect, test } from '@jest/globals';
import type { LockClient, LockHandle } from 'nestjs-redis-lock';
import { LockFixture, recordEvents, rejection } from '../cases/support/lock-fixture.js';
import { describeWithRedisServer } from '../support/redis.js';
import { waitFor } from '../support/wait-for.js';
import { useLinkProxies, type LinkProxy } from './support/link-proxy.js';
import { openInboxes, untilListening, untilQueued } from './support/queue.js';

describeWithRedisServer('Replies that are lost or late', () => {
  const fixture = LockFixture.use();
  const behindProxy = useLinkProxies(fixture);

  /** Two clients with open inboxes, one of them behind a proxy, and a third one that holds the key. */
  async function scene(commandTimeout = 1_000): Promise<{
    first: LockHandle;
    other: LockClient;
    proxy: LinkProxy;
    client: LockClient;
  }> {
    const [holder, other] = [fixture.client(), fixture.client()];
    const { proxy, client } = await behindProxy({ commandTimeout });
    await openInboxes(fixture, other, client);
    return { first: await holder.acquire('order', { ttl: '1m' }), other, proxy, client };
  }

  test('the answer that queues a waiter is lost → it keeps one place, and is served', async () => {
    const { first, other, proxy, client } = await scene();
    proxy.dropReply();
    const acquiring = client.acquire('order', { wait: '1m' });
    const [place] = await untilQueued(fixture, 'order', 1);
    const behind = other.acquire('order', { wait: '1m' });
    await untilQueued(fixture, 'order', 2);
    // It is back, and has asked again.
    await untilListening(fixture, 2);
    const log = await fixture.commandLog();
    await waitFor(async () => (await log.calls()).some(({ args }) => args[0] === place));
    expect((await untilQueued(fixture, 'order', 2))[0]).toBe(place);

    await first.release();
    const lock = await acquiring;
    expect(await lock.release()).toBe('released');
    await (await behind).release();
    await fixture.expectNothingLeft();
  });

  test('the answer to a release with a successor is lost → the successor has the lock, once', async () => {
    const { first, other, proxy, client } = await scene();
    await first.release();
    const lost = recordEvents(client, 'lost');
    const mine = await client.acquire('order', { ttl: '1m' });
    // Another ttl: no hand-over, so that the next caller is queued by the release.
    const next = client.acquire('order', { ttl: '2m', wait: '1m' });
    proxy.dropReply();
    expect(await mine.release()).toBe('released');
    const lock = await next;
    expect(await fixture.holds('order')).toEqual([expect.stringMatching(new RegExp(`/${lock.fencingToken}$`))]);
    expect(await other.tryAcquire('order')).toBeNull();
    expect(await lock.release()).toBe('released');
    expect(lost).toEqual([]);
    await fixture.expectNothingLeft();
  });

  test('the answer to a release with a successor comes after its time → nothing is left of what it queued', async () => {
    const { first, other, proxy, client } = await scene(200);
    await first.release();
    const mine = await client.acquire('order', { ttl: '1m' });
    const stop = new AbortController();
    const next = rejection(client.acquire('order', { ttl: '2m', wait: '1m', signal: stop.signal }));
    proxy.hold('commands');
    expect(await mine.release()).toBe('unknown');
    stop.abort();
    expect(await next).toMatchObject({ code: 'LOCK_ABORTED' });
    proxy.letGo('commands');
    const theirs = await other.acquire('order', { wait: '1m' });
    expect(await theirs.release()).toBe('released');
    await fixture.expectNothingLeft();
  });

  test.each(['lost', 'late'] as const)(
    'case 16: the answer to a caller with a ttl of 1 h is %s, it leaves, and the next one with 1 s gets the lock → its lease is 1 s',
    async (fate) => {
      const { proxy, client } = await behindProxy({ commandTimeout: 300 });
      const stop = new AbortController();
      if (fate === 'late') proxy.hold('commands');
      else proxy.dropReply();
      const one = rejection(client.acquire('order', { ttl: '1h', wait: '1m', signal: stop.signal }));
      const two = client.acquire('order', { ttl: '1s', wait: '1m' });
      await waitFor(async () => !(await fixture.isFree('order')));
      stop.abort();
      expect(await one).toMatchObject({ code: 'LOCK_ABORTED' });
      const log = await fixture.commandLog();
      if (fate === 'late') {
        await waitFor(async () => (await log.count('acquire')) > 0);
        proxy.letGo('commands');
      }
      const lock = await two;
      expect(await fixture.lease('order')).toBeLessThanOrEqual(1_000);
      expect(lock.held).toBe(true);
      expect(await lock.release()).toBe('released');
      await fixture.expectNothingLeft();
    },
  );

  test('case 17: the answers to renewals are late, and the lock is handed on meanwhile → the next holder has a lease of its own', async () => {
    const { first, other, proxy, client } = await scene(2_000);
    await first.release();
    const mine = await client.acquire('order', { ttl: 900 });
    const behind = other.acquire('order', { ttl: '1m', wait: '1m' });
    await untilQueued(fixture, 'order', 1);
    const log = await fixture.commandLog();
    proxy.hold('commands');
    await waitFor(async () => (await log.count('renew')) > 0);
    const released = mine.release();
    const theirs = await behind;
    proxy.letGo('commands');
    expect(await released).toBe('released');
    await theirs.extend();
    expect(theirs.held).toBe(true);
    await expect(mine.extend('1h')).rejects.toMatchObject({ code: 'LOCK_ARGUMENT' });
    expect(await theirs.release()).toBe('released');
    await fixture.expectNothingLeft();
  });

  test('a hundred callers, and answers are lost again and again → one at a time, everybody is served, nothing is left', async () => {
    const { first, other, proxy, client } = await scene();
    let inside = 0;
    let overlaps = 0;
    const work = async (): Promise<void> => {
      if (++inside > 1) overlaps++;
      await new Promise((resolve) => setTimeout(resolve, 5));
      inside--;
    };
    const callers = [client, other].flatMap((each) =>
      Array.from({ length: 50 }, async () => each.run('order', work, { ttl: '30s', wait: '1m' })),
    );
    await first.release();
    const dropping = setInterval(() => proxy.dropReply(), 150);
    const outcomes = await Promise.allSettled(callers).finally(() => clearInterval(dropping));
    expect(outcomes.flatMap((each) => (each.status === 'rejected' ? [String(each.reason)] : []))).toEqual([]);
    expect(overlaps).toBe(0);
    await fixture.expectNothingLeft();
  });
});
