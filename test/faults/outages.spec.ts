import { expect, test } from '@jest/globals';
import { LockFixture, recordEvents, rejection } from '../cases/support/lock-fixture.js';
import { describeWithRedisServer } from '../support/redis.js';
import { waitFor } from '../support/wait-for.js';
import { useLinkProxies } from './support/link-proxy.js';
import { inboxes, openInboxes, queueOf, untilListening, untilQueued } from './support/queue.js';

describeWithRedisServer('Everything between a process and Redis breaks', () => {
  const fixture = LockFixture.use();
  const behindProxy = useLinkProxies(fixture);

  test('cut for less than the lease → still held, no signal, and the lease is renewed as before', async () => {
    const { proxy, client } = await behindProxy();
    const lost = recordEvents(client, 'lost');
    const failed = recordEvents(client, 'renewalFailed');
    const lock = await client.acquire('order', { ttl: '3s' });
    proxy.refuse();
    proxy.cut();
    await waitFor(() => failed.length > 0);
    await waitFor(async () => (await fixture.lease('order')) < 1_200);
    await proxy.accept();
    await fixture.untilRenewed('order', 2);
    expect([lock.held, lock.signal.aborted, lost]).toEqual([true, false, []]);
    expect(await lock.release()).toBe('released');
    await fixture.expectNothingLeft();
  });

  test('cut for longer than the lease → lost, a waiter elsewhere gets it, and what comes back harms nobody', async () => {
    const other = fixture.client();
    const { proxy, client } = await behindProxy();
    const mine = await client.acquire('order', { ttl: '1s' });
    const acquiring = other.acquire('order', { ttl: '1m', wait: '1m' });
    await untilQueued(fixture, 'order', 1);
    proxy.refuse();
    proxy.cut();
    const theirs = await acquiring;
    expect(mine.held).toBe(false);
    expect(theirs.fencingToken).toBeGreaterThan(mine.fencingToken);
    const log = await fixture.commandLog();
    await proxy.accept();
    expect(await mine.release()).toBe('lost');
    // What it may have left is given back by its token.
    await waitFor(async () => (await log.calls()).some(({ args }) => args[1] === String(mine.fencingToken)));
    await theirs.extend();
    expect(await theirs.release()).toBe('released');
    await fixture.expectNothingLeft();
  });

  test('cut while a caller waits, for less than its patience → it keeps its place and is served', async () => {
    const [holder, other] = [fixture.client(), fixture.client()];
    const { proxy, client } = await behindProxy();
    await openInboxes(fixture, client, other);
    const first = await holder.acquire('order', { ttl: '1m' });
    const mine = client.acquire('order', { ttl: '1m', wait: '1m' });
    const [member] = await untilQueued(fixture, 'order', 1);
    const behind = other.acquire('order', { ttl: '1m', wait: '1m' });
    await untilQueued(fixture, 'order', 2);
    proxy.refuse();
    proxy.cut();
    await waitFor(async () => (await inboxes(fixture)).length === 1);
    await proxy.accept();
    await untilListening(fixture, 2);
    const log = await fixture.commandLog();
    await waitFor(async () => (await log.calls()).some(({ args }) => args[0] === member));
    await first.release();
    const lock = await mine;
    expect(await queueOf(fixture, 'order')).toHaveLength(1);
    await lock.release();
    await (await behind).release();
    await fixture.expectNothingLeft();
  });

  test('cut until the patience of a caller is over → it is told that Redis is out of reach, and its place goes when it is back', async () => {
    const [holder, other] = [fixture.client(), fixture.client()];
    const { proxy, client } = await behindProxy({ commandTimeout: 300 });
    await openInboxes(fixture, client, other);
    const first = await holder.acquire('order', { ttl: '1m' });
    const mine = rejection(client.acquire('order', { ttl: '1m', wait: '2s' }));
    const [member] = await untilQueued(fixture, 'order', 1);
    // Somebody else keeps the queue alive.
    const behind = other.acquire('order', { ttl: '1m', wait: '1m' });
    await untilQueued(fixture, 'order', 2);
    proxy.refuse();
    proxy.cut();
    expect(await mine).toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    expect((await queueOf(fixture, 'order'))[0]).toBe(member);
    await proxy.accept();
    await waitFor(async () => !(await queueOf(fixture, 'order')).includes(String(member)));
    await first.release();
    await (await behind).release();
    await fixture.expectNothingLeft();
  });

  test('half open while a lock is held → found out, and renewed over a new connection before the lease ends', async () => {
    const { proxy, client } = await behindProxy({ commandTimeout: 300 });
    const lost = recordEvents(client, 'lost');
    const lock = await client.acquire('order', { ttl: '4s' });
    const failed = recordEvents(client, 'renewalFailed');
    proxy.freeze();
    await waitFor(() => failed.length > 0);
    await fixture.untilRenewed('order', 2);
    expect([lock.held, lost]).toEqual([true, []]);
    expect(await lock.release()).toBe('released');
    await fixture.expectNothingLeft();
  });

  test('half open while callers wait → they ask over a new connection, and one of them is served', async () => {
    const holder = fixture.client();
    const { proxy, client } = await behindProxy({ commandTimeout: 300 });
    await openInboxes(fixture, client);
    const first = await holder.acquire('order', { ttl: '1m' });
    const waiting = Array.from({ length: 10 }, async () => client.run('order', () => true, { wait: '1m' }));
    await untilQueued(fixture, 'order', 1);
    proxy.freeze();
    await first.release();
    expect(await Promise.all(waiting)).toEqual(Array.from({ length: 10 }, () => true));
    await fixture.expectNothingLeft();
  });

  test('half open at the release → settled within its bound, and given back over a new connection', async () => {
    const { proxy, client } = await behindProxy({ commandTimeout: 300 });
    const lock = await client.acquire('order', { ttl: '1m' });
    proxy.freeze();
    const started = performance.now();
    expect(await lock.release()).toBe('unknown');
    expect(performance.now() - started).toBeLessThan(3_000);
    await waitFor(async () => fixture.isFree('order'));
    await fixture.expectNothingLeft();
  });

  test('everything is cut again and again while many wait → one at a time, everybody is served, nothing is left', async () => {
    const { proxy, client } = await behindProxy();
    const other = fixture.client();
    let inside = 0;
    let overlaps = 0;
    const work = async (): Promise<void> => {
      if (++inside > 1) overlaps++;
      await new Promise((resolve) => setTimeout(resolve, 5));
      inside--;
    };
    const cutting = setInterval(() => proxy.cut(), 200);
    const callers = [client, other].flatMap((each) =>
      Array.from({ length: 100 }, async () => each.run('order', work, { ttl: '30s', wait: '1m' })),
    );
    const outcomes = await Promise.allSettled(callers).finally(() => clearInterval(cutting));
    expect(outcomes.flatMap((each) => (each.status === 'rejected' ? [String(each.reason)] : []))).toEqual([]);
    expect(overlaps).toBe(0);
    await fixture.expectNothingLeft();
  });
});
