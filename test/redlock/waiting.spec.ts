import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { LockTimeoutError, type LockClient } from 'nestjs-redis-lock';
import { describeWithRedisServer } from '../support/redis.js';
import { waitFor } from '../support/wait-for.js';
import { RedlockServers } from './support/servers.js';

/** Without a word from anybody, a waiter would come back this late. */
const SLOW = { backoff: { initial: 20_000, max: 20_000 } };

describeWithRedisServer('Waiting for a lock of Redlock', () => {
  const servers = RedlockServers.use();

  /** A client whose inboxes are open on all nodes. */
  async function listening(): Promise<LockClient> {
    const client = await servers.client(SLOW);
    const blocker = await servers.client();
    const lock = await blocker.acquire('opens');
    await waitFor(() => lock.nodes === 5);
    const before = await subscribed();
    const waiter = client.acquire('opens', { wait: '20s' });
    await waitFor(async () => (await subscribed()) === before + 5);
    await queued('opens', 1);
    await lock.release();
    await (await waiter).release();
    return client;
  }

  async function subscribed(): Promise<number> {
    const channels = await Promise.all(
      servers.redis.map(async (redis) => redis.pubsub('CHANNELS', `${servers.prefix}:inbox:*`)),
    );
    return channels.flat().length;
  }

  async function queued(key: string, count: number): Promise<void> {
    await waitFor(async () => {
      const sizes = await Promise.all(servers.redis.map(async (redis) => redis.zcard(`${servers.nameOf(key)}:queue`)));
      return sizes.every((size) => size === count);
    });
  }

  test('who waits is woken by the release', async () => {
    const [a, b] = [await listening(), await listening()];
    for (let round = 0; round < 5; round++) {
      const lock = await a.acquire('k');
      await waitFor(() => lock.nodes === 5);
      const next = b.acquire('k', { wait: '15s' });
      await queued('k', 1);
      const released = performance.now();
      await lock.release();
      const got = await next;
      expect(performance.now() - released).toBeLessThan(1_000);
      await got.release();
    }
    await servers.expectNothingLeft();
  });

  test('several clients pass it on', async () => {
    const clients = [await listening(), await listening(), await listening()];
    let inside = 0;
    let done = 0;
    const holder = await clients[0]?.acquire('k');
    await waitFor(() => holder?.nodes === 5);
    const work = clients.slice(1).map(async (client) => {
      await client.run(
        'k',
        async () => {
          expect(++inside).toBe(1);
          await pause(5);
          inside--;
          done++;
        },
        { wait: '15s' },
      );
    });
    await queued('k', 2);
    await holder?.release();
    await Promise.all(work);
    expect(done).toBe(2);
    await servers.expectNothingLeft();
  });

  test('who gives up leaves nothing behind', async () => {
    const [a, b] = [await servers.client(), await listening()];
    const lock = await a.acquire('k');
    await expect(b.acquire('k', { wait: 200 })).rejects.toBeInstanceOf(LockTimeoutError);
    await queued('k', 0);
    await lock.release();
    await servers.expectNothingLeft();
  });
});
