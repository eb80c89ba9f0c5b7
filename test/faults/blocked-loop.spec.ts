import { expect, test } from '@jest/globals';
import { LockFixture, recordEvents } from '../cases/support/lock-fixture.js';
import { describeWithRedisServer } from '../support/redis.js';
import { waitFor } from '../support/wait-for.js';
import { openInboxes, untilQueued } from './support/queue.js';

describeWithRedisServer('The event loop is blocked while answers wait in the socket', () => {
  const fixture = LockFixture.use();

  const warned = (): string[] => fixture.warnings.filter((warning) => /out of reach/.test(warning));

  /** Longer than any time limit of a client whose commandTimeout is 100 ms. */
  function block(ms = 600): void {
    const until = performance.now() + ms;
    while (performance.now() < until);
  }

  /** Until what has just been asked for is on its way: answered by Redis, and not read yet. */
  const sent = async (): Promise<void> => {
    await new Promise((resolve) => setImmediate(resolve));
  };

  test('an acquire → obtained: Redis has answered in time', async () => {
    const client = fixture.client({ commandTimeout: 100 });
    await fixture.connected(client);
    const acquiring = client.acquire('order', { ttl: '1m', wait: 0 });
    await sent();
    block();
    const lock = await acquiring;
    expect(await lock.release()).toBe('released');
    expect(warned()).toEqual([]);
    await fixture.expectNothingLeft();
  });

  test('a release → released', async () => {
    const client = fixture.client({ commandTimeout: 100 });
    const lock = await client.acquire('order', { ttl: '1m' });
    const releasing = lock.release();
    await sent();
    block();
    expect(await releasing).toBe('released');
    expect(warned()).toEqual([]);
    await fixture.expectNothingLeft();
  });

  test('a renewal → still held, and no failure is told of', async () => {
    const client = fixture.client({ commandTimeout: 100 });
    const failed = recordEvents(client, 'renewalFailed');
    const lock = await client.acquire('order', { ttl: '3s' });
    const log = await fixture.commandLog();
    await waitFor(async () => (await log.count('renew')) > 0);
    const extending = lock.extend();
    await sent();
    block();
    await extending;
    expect([lock.held, failed, warned()]).toEqual([true, [], []]);
    await lock.release();
    await fixture.expectNothingLeft();
  });

  test('a grant is told meanwhile → the waiter has the lock when it is awake again', async () => {
    const [holder, client] = [fixture.client(), fixture.client({ commandTimeout: 100 })];
    await openInboxes(fixture, client);
    const first = await holder.acquire('order', { ttl: '1m' });
    const acquiring = client.acquire('order', { ttl: '1m', wait: '1m' });
    await untilQueued(fixture, 'order', 1);
    const releasing = first.release();
    await sent();
    block();
    await releasing;
    const lock = await acquiring;
    await lock.extend();
    expect(await lock.release()).toBe('released');
    expect(warned()).toEqual([]);
    await fixture.expectNothingLeft();
  });
});
