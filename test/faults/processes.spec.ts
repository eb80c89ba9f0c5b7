import { expect, test } from '@jest/globals';
import type { ChildProcess } from '../cases/support/child-process.js';
import { LockFixture } from '../cases/support/lock-fixture.js';
import { describeWithRedisServer } from '../support/redis.js';
import { waitFor } from '../support/wait-for.js';
import { callsOf, inboxes, openInboxes, pass, queueOf, untilListening, untilQueued } from './support/queue.js';

describeWithRedisServer('Processes that are stopped, blocked or killed', () => {
  const fixture = LockFixture.use();

  const puppet = (config: object): ChildProcess =>
    fixture.process('../../faults/support/puppet.mjs', { url: fixture.server.url, prefix: fixture.prefix, ...config });

  test('SIGSTOP of a holder for longer than its lease → the next one gets the lock; SIGCONT → it is told, and harms nobody', async () => {
    const process = puppet({ hold: [{ key: 'order', options: { ttl: '1s' } }] });
    const { fencingToken } = await process.said('obtained');
    const client = fixture.client();
    const acquiring = client.acquire('order', { ttl: '1m', wait: '1m' });
    await untilQueued(fixture, 'order', 1);
    process.kill('SIGSTOP');
    const lock = await acquiring;
    expect(lock.fencingToken).toBeGreaterThan(Number(fencingToken));
    process.kill('SIGCONT');
    expect(await process.said('lost')).toEqual({ event: 'lost', key: 'order', reason: expect.any(String) });
    process.tell('release order');
    expect(await process.said('failed')).toMatchObject({ code: 'LOCK_LOST' });
    await lock.extend();
    expect(await lock.release()).toBe('released');
    await fixture.expectNothingLeft();
  });

  test('SIGSTOP of a holder for less than its lease → still held when it goes on', async () => {
    const process = puppet({ hold: [{ key: 'order', options: { ttl: '3s' } }] });
    await process.said('obtained');
    process.kill('SIGSTOP');
    await waitFor(async () => (await fixture.lease('order')) < 1_500);
    process.kill('SIGCONT');
    await fixture.untilRenewed('order', 2);
    process.tell('release order');
    await process.said('done');
    expect(process.events.map(({ event }) => event)).toEqual(['asked', 'obtained', 'done']);
    await fixture.expectNothingLeft();
  });

  test('SIGSTOP of a waiter while it waits → it keeps its place', async () => {
    const holder = fixture.client();
    const first = await holder.acquire('order', { ttl: '1m' });
    const process = puppet({ wait: [{ key: 'order', options: { wait: '1m' } }] });
    await untilQueued(fixture, 'order', 1);
    await untilListening(fixture, 1);
    const behind = fixture.client().acquire('order', { wait: '1m' });
    await untilQueued(fixture, 'order', 2);
    process.kill('SIGSTOP');
    await pass(2_000);
    process.kill('SIGCONT');
    await first.release();
    await process.said('obtained');
    expect(await queueOf(fixture, 'order')).toHaveLength(1);
    process.tell('release order');
    await (await behind).release();
    await process.said('done');
    await fixture.expectNothingLeft();
  });

  test('a stopped waiter is granted the lock → it costs 3 s once, and its other entry in the queue goes too', async () => {
    const [holder, next] = [fixture.client(), fixture.client()];
    await openInboxes(fixture, next);
    const first = await holder.acquire('order', { ttl: '1m' });
    const options = { fair: true, wait: '1m' };
    const process = puppet({ wait: [{ key: 'order', options, callers: 2 }] });
    const stopped = await untilQueued(fixture, 'order', 2);
    await untilListening(fixture, 2);
    const acquiring = next.acquire('order', { ttl: '1m', wait: '1m' });
    await untilQueued(fixture, 'order', 3);
    process.kill('SIGSTOP');
    await fixture.redis.config('RESETSTAT');
    await first.release();
    const released = performance.now();
    await waitFor(async () => (await fixture.fields('order')).includes('@until'));
    expect((await fixture.holds('order')).some((field) => field.startsWith(`${stopped[0]}/`))).toBe(true);

    const lock = await acquiring;
    const waited = performance.now() - released;
    expect(waited).toBeGreaterThan(2_900);
    // One grant was published, and it was void; who found that out got the lock with its answer.
    expect(await callsOf(fixture, 'publish')).toBe(1);
    expect(await queueOf(fixture, 'order')).toEqual([]);

    process.kill('SIGCONT');
    await untilQueued(fixture, 'order', 2);
    expect(process.events.some(({ event }) => event === 'obtained')).toBe(false);
    expect(await lock.release()).toBe('released');
    for (const done of [1, 2]) {
      await waitFor(() => process.events.filter(({ event }) => event === 'obtained').length === done);
      process.tell('release order');
      await waitFor(() => process.events.filter(({ event }) => event === 'done').length === done);
    }
    await fixture.expectNothingLeft();
  });

  test('the event loop of a waiter is blocked for longer than its grant lives → it does not work under it, and asks again', async () => {
    const [holder, next] = [fixture.client(), fixture.client()];
    await openInboxes(fixture, next);
    const first = await holder.acquire('order', { ttl: '1m' });
    const process = puppet({ wait: [{ key: 'order', options: { ttl: '1m', wait: '1m' } }] });
    await untilQueued(fixture, 'order', 1);
    await untilListening(fixture, 2);
    const acquiring = next.acquire('order', { ttl: '1m', wait: '1m' });
    await untilQueued(fixture, 'order', 2);
    process.tell('block 4500');
    await process.said('blocking');
    await first.release();
    const lock = await acquiring;
    await process.said('awake');
    await untilQueued(fixture, 'order', 1);
    expect(process.events.some(({ event }) => event === 'obtained')).toBe(false);
    await lock.extend();
    expect(await lock.release()).toBe('released');
    expect(await process.said('obtained')).toMatchObject({ held: true });
    process.tell('release order');
    await process.said('done');
    await fixture.expectNothingLeft();
  });

  test('SIGKILL of the first in the queue → the next one is granted the lock at once, and not told twice', async () => {
    const [holder, next] = [fixture.client(), fixture.client()];
    await openInboxes(fixture, next);
    const first = await holder.acquire('order', { ttl: '1m' });
    const process = puppet({ wait: [{ key: 'order', options: { wait: '1m' } }] });
    await untilQueued(fixture, 'order', 1);
    await untilListening(fixture, 2);
    const acquiring = next.acquire('order', { ttl: '1m', wait: '1m' });
    await untilQueued(fixture, 'order', 2);
    process.kill('SIGKILL');
    await process.exit();
    await waitFor(async () => (await inboxes(fixture)).length === 1);
    await fixture.redis.config('RESETSTAT');
    await first.release();
    const [granted] = await fixture.holds('order');
    const lock = await acquiring;
    // The release gave it to the one that lives, and nothing else has been granted.
    expect(granted).toMatch(new RegExp(`/${lock.fencingToken}$`));
    expect(await callsOf(fixture, 'publish')).toBe(1);
    expect(await lock.release()).toBe('released');
    await fixture.expectNothingLeft();
  });
});
