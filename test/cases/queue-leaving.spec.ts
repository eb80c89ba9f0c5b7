import { expect, test } from '@jest/globals';
import type { LockClient, LockOptions } from 'nestjs-redis-lock';
import { useLinkProxies } from '../faults/support/link-proxy.js';
import { callsOf, inboxes, openInboxes, queueOf, untilQueued } from '../faults/support/queue.js';
import { describeWithRedisServer } from '../support/redis.js';
import { waitFor } from '../support/wait-for.js';
import { LockFixture, rejection } from './support/lock-fixture.js';

describeWithRedisServer('Queue: waiters that leave', () => {
  const fixture = LockFixture.use();
  const behindProxy = useLinkProxies(fixture);

  test.each([
    ['its patience is over', { wait: 300 }, 'LOCK_TIMEOUT'],
    ['its signal aborts', { wait: '1m' }, 'LOCK_ABORTED'],
    ['its process shuts down', { wait: '1m' }, 'LOCK_SHUTDOWN'],
  ] satisfies [string, LockOptions, string][])('%s → out of the queue in Redis', async (why, options, code) => {
    const [holder, client, other] = [fixture.client(), fixture.client(), fixture.client()];
    await openInboxes(fixture, client, other);
    const first = await holder.acquire('order', { ttl: '1m' });
    // Somebody else keeps the queue alive: nothing in it goes by itself.
    const behind = other.acquire('order', { ttl: '1m', wait: '1m' });
    const [theirs] = await untilQueued(fixture, 'order', 1);
    const stop = new AbortController();
    const mine = rejection(client.acquire('order', { ...options, signal: stop.signal }));
    await untilQueued(fixture, 'order', 2);
    if (code === 'LOCK_ABORTED') stop.abort();
    if (code === 'LOCK_SHUTDOWN') await client.close();
    expect([why, await mine]).toEqual([why, expect.objectContaining({ code })]);
    expect(await untilQueued(fixture, 'order', 1)).toEqual([theirs]);
    await first.release();
    await (await behind).release();
    await fixture.expectNothingLeft();
  });

  test.each(['one member for all', 'fair'] as const)(
    'a hundred callers leave one by one (%s) → the last one takes the place',
    async (kind) => {
      const [holder, client] = [fixture.client(), fixture.client()];
      const first = await holder.acquire('order', { ttl: '1m' });
      const callers = Array.from({ length: 100 }, () => new AbortController());
      const failed = callers.map(async ({ signal }) =>
        rejection(client.acquire('order', { wait: '1m', fair: kind === 'fair', signal })),
      );
      await untilQueued(fixture, 'order', kind === 'fair' ? 100 : 1);
      for (const caller of callers.slice(1)) caller.abort();
      await untilQueued(fixture, 'order', 1);
      callers[0]?.abort();
      for (const each of failed) expect(await each).toMatchObject({ code: 'LOCK_ABORTED' });
      await untilQueued(fixture, 'order', 0);
      await first.release();
      await fixture.expectNothingLeft();
    },
  );

  test('it left while its connection was broken → out of the queue once that is back', async () => {
    const [holder, other] = [fixture.client(), fixture.client()];
    const { proxy, client } = await behindProxy();
    await openInboxes(fixture, client, other);
    const first = await holder.acquire('order', { ttl: '1m' });
    const stop = new AbortController();
    const mine = rejection(client.acquire('order', { wait: '1m', ttl: '10s', signal: stop.signal }));
    const [member] = await untilQueued(fixture, 'order', 1);
    const behind = other.acquire('order', { ttl: '1m', wait: '1m' });
    await untilQueued(fixture, 'order', 2);
    proxy.refuse();
    proxy.cut();
    stop.abort();
    expect(await mine).toMatchObject({ code: 'LOCK_ABORTED' });
    expect(await queueOf(fixture, 'order')).toContain(member);
    await proxy.accept();
    await waitFor(async () => !(await queueOf(fixture, 'order')).includes(String(member)));
    await first.release();
    await (await behind).release();
    await fixture.expectNothingLeft();
  });

  test('it left while its connection was broken for longer than its ttl → out of the queue once that is back', async () => {
    const [holder, other] = [fixture.client(), fixture.client()];
    const { proxy, client } = await behindProxy({ commandTimeout: 200 });
    await openInboxes(fixture, client, other);
    const first = await holder.acquire('order', { ttl: '1m' });
    const stop = new AbortController();
    const mine = rejection(client.acquire('order', { wait: '1m', ttl: 300, signal: stop.signal }));
    const [member] = await untilQueued(fixture, 'order', 1);
    const behind = other.acquire('order', { ttl: '1m', wait: '1m' });
    await untilQueued(fixture, 'order', 2);
    proxy.refuse();
    proxy.cut();
    stop.abort();
    expect(await mine).toMatchObject({ code: 'LOCK_ABORTED' });
    await waitFor(async () => (await inboxes(fixture)).length === 1);
    const since = performance.now();
    await waitFor(() => performance.now() - since > 1_500);
    await proxy.accept();
    await waitFor(async () => (await inboxes(fixture)).length === 2);
    await waitFor(async () => !(await queueOf(fixture, 'order')).includes(String(member)));
    await first.release();
    await (await behind).release();
    await fixture.expectNothingLeft();
  });

  test('a grant that arrives when nobody waits for it any more → is passed on at once', async () => {
    const [holder, other] = [fixture.client(), fixture.client()];
    const { proxy, client } = await behindProxy();
    await openInboxes(fixture, client, other);
    const first = await holder.acquire('order', { ttl: '1m' });
    const stop = new AbortController();
    const mine = rejection(client.acquire('order', { wait: '1m', signal: stop.signal }));
    await untilQueued(fixture, 'order', 1);
    const behind = other.acquire('order', { ttl: '1m', wait: '1m' });
    await untilQueued(fixture, 'order', 2);
    await fixture.redis.config('RESETSTAT');
    proxy.hold('inbox');
    await first.release();
    stop.abort();
    expect(await mine).toMatchObject({ code: 'LOCK_ABORTED' });
    proxy.letGo('inbox');
    const lock = await behind;
    expect(await callsOf(fixture, 'publish')).toBe(2);
    expect(await lock.release()).toBe('released');
    await fixture.expectNothingLeft();
  });

  test('a thousand waiters of three clients that leave at random moments while the key goes from hand to hand → nothing is left', async () => {
    const clients = [fixture.client(), fixture.client(), fixture.client()];
    let inside = 0;
    let overlaps = 0;
    const codes = new Set<string>();
    const ask = async (client: LockClient, n: number): Promise<void> => {
      const stop = new AbortController();
      const timer = setTimeout(() => stop.abort(), Math.random() * 400);
      const work = async (): Promise<void> => {
        if (++inside > 1) overlaps++;
        await new Promise((resolve) => setImmediate(resolve));
        inside--;
      };
      const fair = n % 5 === 0;
      const asked = client.run(`order-${n % 3}`, work, {
        wait: '1m',
        fair,
        ttl: 20_000 + (n % 2),
        signal: stop.signal,
      });
      await asked.catch((error: unknown) => codes.add((error as { code: string }).code));
      clearTimeout(timer);
    };
    for (let n = 0; n < 3; n++) {
      inside = 0;
      await Promise.all(
        clients.flatMap((client) => Array.from({ length: 110 }, async (_, each) => ask(client, 3 * each + n))),
      );
    }
    expect(overlaps).toBe(0);
    expect([...codes].filter((code) => code !== 'LOCK_ABORTED')).toEqual([]);
    await fixture.expectNothingLeft();
  });
});
