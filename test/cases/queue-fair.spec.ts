import { expect, test } from '@jest/globals';
import type { LockClient } from 'nestjs-redis-lock';
import { callsOf, leaveHeld, openInboxes, pass, queueOf, untilQueued } from '../faults/support/queue.js';
import { describeWithRedisServer } from '../support/redis.js';
import { LockFixture, rejection, timed } from './support/lock-fixture.js';

describeWithRedisServer('Queue: fair: true', () => {
  const fixture = LockFixture.use();

  test('callers of two clients in turn → served in the order in which they came, each through Redis', async () => {
    const [holder, a, b] = [fixture.client(), fixture.client(), fixture.client()];
    await openInboxes(fixture, a, b);
    const first = await holder.acquire('order', { ttl: '1m' });
    const served: number[] = [];
    const callers: Promise<void>[] = [];
    for (let n = 0; n < 20; n++) {
      const work = (): number => served.push(n);
      const client = n % 3 === 0 ? a : b;
      callers.push(client.run('order', work, { fair: true, wait: '1m' }).then(() => undefined));
      await untilQueued(fixture, 'order', n + 1);
    }
    await fixture.redis.config('RESETSTAT');
    await first.release();
    await Promise.all(callers);

    expect(served).toEqual(Array.from({ length: 20 }, (_, n) => n));
    expect(await callsOf(fixture, 'publish')).toBe(20);
    await fixture.expectNothingLeft();
  });

  test('callers of one client only → no hand-over: a caller of another client that came between them is not passed', async () => {
    const [a, b] = [fixture.client(), fixture.client()];
    await openInboxes(fixture, a, b);
    const first = await a.acquire('order', { fair: true });
    const served: string[] = [];
    const ask = async (client: LockClient, name: string, queued: number): Promise<{ done: Promise<unknown> }> => {
      const done = client.run('order', () => served.push(name), { fair: true, wait: '1m' });
      await untilQueued(fixture, 'order', queued);
      return { done };
    };
    const asked = [await ask(b, 'b', 1), await ask(a, 'a1', 2), await ask(a, 'a2', 3)];
    await first.release();
    await Promise.all(asked.map(async ({ done }) => done));
    expect(served).toEqual(['b', 'a1', 'a2']);
    await fixture.expectNothingLeft();
  });

  test('a caller in the middle gives up → it is out of the queue, the others keep their places', async () => {
    const [holder, client] = [fixture.client(), fixture.client()];
    const first = await holder.acquire('order', { ttl: '1m' });
    const stop = new AbortController();
    const served: string[] = [];
    const run = async (name: string, signal?: AbortSignal): Promise<unknown> =>
      client.run('order', () => served.push(name), { fair: true, wait: '1m', ...(signal ? { signal } : {}) });
    const one = run('one');
    await untilQueued(fixture, 'order', 1);
    const two = rejection(run('two', stop.signal));
    await untilQueued(fixture, 'order', 2);
    const three = run('three');
    const [, , last] = await untilQueued(fixture, 'order', 3);
    stop.abort();
    expect(await two).toMatchObject({ code: 'LOCK_ABORTED' });
    const queue = await untilQueued(fixture, 'order', 2);
    expect(queue[1]).toBe(last);
    await first.release();
    await Promise.all([one, three]);
    expect(served).toEqual(['one', 'three']);
    await fixture.expectNothingLeft();
  });

  test('the first one got the lock by asking, after a holder that died, and its fixed lease ends → the second one gets it', async () => {
    const client = fixture.client();
    await openInboxes(fixture, client);
    await leaveHeld(fixture, 'order', 1_000);
    const one = client.acquire('order', { fair: true, ttl: 500, renew: false, wait: '1m' });
    await untilQueued(fixture, 'order', 1);
    const two = client.acquire('order', { fair: true, ttl: '1m', wait: '15s' });
    await untilQueued(fixture, 'order', 2);
    const first = await one;
    const second = await two;
    expect(first.held).toBe(false);
    expect(second.held).toBe(true);
    expect(await second.release()).toBe('released');
    await first.release();
    await fixture.expectNothingLeft();
  });

  test('the first one holds for longer than a queue lives that nobody asks for → the second one is still told', async () => {
    const client = fixture.client();
    await openInboxes(fixture, client);
    await leaveHeld(fixture, 'order', 1_000);
    const one = client.acquire('order', { fair: true, ttl: '1m', wait: '1m' });
    await untilQueued(fixture, 'order', 1);
    const two = client.acquire('order', { fair: true, ttl: '1m', wait: '15s' });
    await untilQueued(fixture, 'order', 2);
    const first = await one;
    await pass(8_000);
    expect(await first.release()).toBe('released');
    expect(await (await two).release()).toBe('released');
    await fixture.expectNothingLeft();
  });

  test('maxWaiters callers queue already → the next one is refused', async () => {
    const [holder, client] = [fixture.client(), fixture.client()];
    const first = await holder.acquire('order', { ttl: '1m' });
    const options = { fair: true, wait: '1m', maxWaiters: 2 } as const;
    const waiting = [client.acquire('order', options), client.acquire('order', options)];
    await untilQueued(fixture, 'order', 2);
    const third = client.acquire('order', options).then(
      async (lock) => lock.release(),
      (error: unknown) => error,
    );
    // A third one that queues would be seen here.
    await pass(200);
    expect(await queueOf(fixture, 'order')).toHaveLength(2);
    await first.release();
    for (const each of waiting) await (await each).release();
    expect(await third).toMatchObject({ code: 'LOCK_BUSY' });
    await fixture.expectNothingLeft();
  });

  test('their places are lost while the lock is free → all of them are served without waiting for a poll each', async () => {
    const [holder, client] = [fixture.client(), fixture.client()];
    await openInboxes(fixture, client);
    const first = await holder.acquire('order', { ttl: '1m' });
    const served = Array.from({ length: 30 }, async () => client.run('order', () => true, { fair: true, wait: '1m' }));
    await untilQueued(fixture, 'order', 30);
    await fixture.redis.config('RESETSTAT');
    await fixture.redis.del(fixture.redisKey('order'), `${fixture.redisKey('order')}:queue`);
    const { ms } = await timed(async () => Promise.all(served));
    // The first one asks after 1.5 s, the others at once. One after another they would need 45 s.
    expect(ms).toBeLessThan(15_000);
    // Each asks once because of the loss, maybe once more because somebody noticed it late, and releases.
    expect(await callsOf(fixture, 'evalsha')).toBeLessThanOrEqual(4 * 30);
    expect(await first.release()).toBe('lost');
    await fixture.expectNothingLeft();
  });
});
