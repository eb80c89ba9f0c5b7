import { expect, test } from '@jest/globals';
import { describeWithRedisServer } from '../support/redis.js';
import { waitFor } from '../support/wait-for.js';
import type { ChildProcess } from './support/child-process.js';
import { LockFixture } from './support/lock-fixture.js';

describeWithRedisServer('Releasing: when a process ends', () => {
  const fixture = LockFixture.use();

  /** Starts a process that holds the key, and one that waits in it. */
  async function holder(config: object = {}): Promise<ChildProcess> {
    const process = fixture.process('holder.mjs', { url: fixture.server.url, prefix: fixture.prefix, ...config });
    await process.said('holding');
    return process;
  }

  const connections = async (): Promise<number> =>
    String(await fixture.redis.client('LIST'))
      .trim()
      .split('\n').length;

  test('case 22: SIGTERM while a body holds the lock → drained, released, closed, in this order', async () => {
    const before = await connections();
    const process = await holder();
    process.kill('SIGTERM');
    expect(await process.said('waiter refused')).toMatchObject({ code: 'LOCK_SHUTDOWN' });
    expect(await process.said('newcomer refused')).toMatchObject({ code: 'LOCK_SHUTDOWN' });

    // Drained: the work still runs, and the key is held for it.
    expect(process.events.map(({ event }) => event)).not.toContain('closed');
    expect(await fixture.holds('order')).toHaveLength(1);
    expect(await connections()).toBe(before + 1);
    process.tell('finish');

    expect(await process.exit()).toEqual({ code: 0, signal: null });
    expect(process.events.filter(({ event }) => !event.endsWith('refused'))).toEqual([
      { event: 'holding', fencingToken: expect.any(Number) },
      { event: 'SIGTERM' },
      { event: 'inner work' },
      { event: 'released', outcome: 'released' },
      { event: 'end of work' },
      { event: 'released', outcome: 'released' },
      { event: 'closed' },
    ]);
    expect(await fixture.redisKeys()).toEqual([`${fixture.prefix}:fence`]);
    await waitFor(async () => (await connections()) === before);
    expect(process.errors).toBe('');
  });

  test('case 22: SIGTERM and the work does not end within the drain → its signal aborts, and others need not wait for the lease', async () => {
    const next = fixture.client();
    const process = await holder({ ttl: '10m', drain: 300, stubborn: true });
    const waiting = next.acquire('order', { ttl: '1m', wait: '1m' });
    process.kill('SIGTERM');

    const theirs = await waiting;
    await process.said('closed');
    expect(await process.exit()).toEqual({ code: 0, signal: null });
    expect(process.events.filter(({ event }) => event === 'aborted' || event === 'lost')).toEqual([
      { event: 'lost', reason: 'shutdown' },
      { event: 'aborted', reason: 'shutdown' },
    ]);
    await theirs.release();
    await fixture.expectNothingLeft();
  });

  test('case 22: SIGKILL while holding → a waiter gets the lock when the lease ends, without help', async () => {
    const next = fixture.client();
    const ttl = 1_500;
    const process = await holder({ ttl });
    const { fencingToken } = await process.said('holding');
    const acquiring = next
      .acquire('order', { ttl: '1m', wait: '1m' })
      .then((lock) => ({ lock, at: performance.now() }));
    // It is alive and renews.
    await fixture.untilRenewed('order', 2);
    process.kill('SIGKILL');
    expect(await process.exit()).toEqual({ code: null, signal: 'SIGKILL' });
    const killed = performance.now();
    const left = await fixture.lease('order');

    const { lock, at } = await acquiring;
    expect(left).toBeGreaterThan(0);
    // Not before the lease has ended, and not for long after.
    expect(at - killed).toBeGreaterThan(left - 20);
    expect(at - killed).toBeLessThan(10 * ttl);
    expect(lock.fencingToken).toBeGreaterThan(Number(fencingToken));
    expect(await lock.release()).toBe('released');
    await fixture.expectNothingLeft();
  });

  test('case 22: SIGKILL while holding and nobody waits → the key is free after the lease', async () => {
    const process = await holder({ ttl: 600 });
    await fixture.untilRenewed('order', 1);
    process.kill('SIGKILL');
    await process.exit();
    await waitFor(async () => fixture.isFree('order'));
    expect(await fixture.redisKeys()).toEqual([`${fixture.prefix}:fence`]);
  });
});
