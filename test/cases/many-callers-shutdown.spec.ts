import { expect, test } from '@jest/globals';
import { inboxes, openInboxes, untilListening, untilQueued } from '../faults/support/queue.js';
import { describeWithRedisServer } from '../support/redis.js';
import { waitFor } from '../support/wait-for.js';
import type { ChildProcess } from './support/child-process.js';
import { LockFixture } from './support/lock-fixture.js';

describeWithRedisServer('Many callers and the end of their process', () => {
  const fixture = LockFixture.use();

  const puppet = (config: object): ChildProcess =>
    fixture.process('../../faults/support/puppet.mjs', { url: fixture.server.url, prefix: fixture.prefix, ...config });

  const said = (process: ChildProcess, event: string): object[] =>
    process.events.filter((each) => each.event === event);

  test('case 22: SIGTERM with 100 callers queued behind one of their process → all refused, the lock released, nothing left', async () => {
    const process = puppet({
      hold: [{ key: 'order', options: { ttl: '10m' } }],
      wait: [{ key: 'order', options: { ttl: '10m', wait: '1m' }, callers: 100 }],
    });
    await process.said('obtained');
    process.kill('SIGTERM');
    await waitFor(() => said(process, 'failed').length === 100);
    expect(said(process, 'failed')).toEqual(
      Array.from({ length: 100 }, () => ({ event: 'failed', key: 'order', code: 'LOCK_SHUTDOWN' })),
    );
    // Drained: the work still runs, and the key is held for it.
    expect(await fixture.holds('order')).toHaveLength(1);
    process.tell('release order');
    await process.said('closed');
    expect(await process.exit()).toEqual({ code: 0, signal: null });
    expect(said(process, 'done')).toHaveLength(1);
    expect(said(process, 'obtained')).toHaveLength(1);
    expect(await fixture.redisKeys()).toEqual([`${fixture.prefix}:fence`]);
    expect(process.errors).toBe('');
  });

  test('case 22: SIGTERM with 100 callers queued behind another process, each with its own place → all refused, out of the queue', async () => {
    const holder = fixture.client();
    const first = await holder.acquire('order', { ttl: '10m' });
    const process = puppet({ wait: [{ key: 'order', options: { wait: '1m', fair: true }, callers: 100 }] });
    await untilQueued(fixture, 'order', 100);
    await untilListening(fixture, 1);
    process.kill('SIGTERM');
    expect(await process.exit()).toEqual({ code: 0, signal: null });
    expect(said(process, 'failed')).toHaveLength(100);
    expect(await untilQueued(fixture, 'order', 0)).toEqual([]);
    await waitFor(async () => (await inboxes(fixture)).length === 0);
    await first.release();
    expect(process.errors).toBe('');
    await fixture.expectNothingLeft();
  });

  test('case 22: SIGTERM and the work does not end within the drain → a waiter of another process gets the lock, and none of the 100', async () => {
    const next = fixture.client();
    const process = puppet({
      drain: '200ms',
      hold: [{ key: 'order', options: { ttl: '10m' } }],
      wait: [{ key: 'order', options: { wait: '1m' }, callers: 100 }],
    });
    await process.said('obtained');
    const acquiring = next.acquire('order', { ttl: '1m', wait: '1m' });
    await untilQueued(fixture, 'order', 1);
    process.kill('SIGTERM');
    const lock = await acquiring;
    await waitFor(() => said(process, 'failed').length === 100);
    expect(await process.said('lost')).toEqual({ event: 'lost', key: 'order', reason: 'shutdown' });
    expect(said(process, 'obtained')).toHaveLength(1);
    await lock.extend();
    expect(await lock.release()).toBe('released');
    await fixture.expectNothingLeft();
  });

  test('case 22: SIGKILL of a process that holds and has 100 callers → a waiter of another one gets the lock after the lease, without help', async () => {
    const next = fixture.client();
    await openInboxes(fixture, next);
    const process = puppet({
      hold: [{ key: 'order', options: { ttl: '1500ms' } }],
      wait: [{ key: 'order', options: { wait: '1m' }, callers: 100 }],
    });
    const { fencingToken } = await process.said('obtained');
    const acquiring = next
      .acquire('order', { ttl: '1m', wait: '1m' })
      .then((lock) => ({ lock, at: performance.now() }));
    await untilQueued(fixture, 'order', 1);
    await fixture.untilRenewed('order', 2);
    process.kill('SIGKILL');
    await process.exit();
    const [left, killed] = [await fixture.lease('order'), performance.now()];
    const { lock, at } = await acquiring;
    expect(at - killed).toBeGreaterThan(left - 20);
    expect(at - killed).toBeLessThan(10 * 1_500);
    expect(lock.fencingToken).toBeGreaterThan(Number(fencingToken));
    expect(await lock.release()).toBe('released');
    await fixture.expectNothingLeft();
  });

  test('case 22: SIGKILL of a process whose 100 callers are the head of the queue → the next one gets the lock at once', async () => {
    const [holder, next] = [fixture.client(), fixture.client()];
    await openInboxes(fixture, next);
    const first = await holder.acquire('order', { ttl: '1m' });
    const process = puppet({ wait: [{ key: 'order', options: { wait: '1m', fair: true }, callers: 100 }] });
    await untilQueued(fixture, 'order', 100);
    await untilListening(fixture, 2);
    const acquiring = next.acquire('order', { ttl: '1m', wait: '1m' });
    await untilQueued(fixture, 'order', 101);
    process.kill('SIGKILL');
    await process.exit();
    await waitFor(async () => (await inboxes(fixture)).length === 1);
    await first.release();
    const [granted] = await fixture.holds('order');
    const lock = await acquiring;
    expect(granted).toMatch(new RegExp(`/${lock.fencingToken}$`));
    expect(await lock.release()).toBe('released');
    await fixture.expectNothingLeft();
  });
});
