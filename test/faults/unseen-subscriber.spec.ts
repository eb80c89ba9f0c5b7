import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startRedis, type RedisServer } from '../../scripts/lib/servers.mjs';
import { LockFixture } from '../cases/support/lock-fixture.js';
import { describeWithRedisServer, newRedis } from '../support/redis.js';
import { waitFor } from '../support/wait-for.js';
import { useLinkProxies } from './support/link-proxy.js';
import { openInboxes, queueOf, untilQueued } from './support/queue.js';

describeWithRedisServer(
  'An inbox at a replica: NUMSUB of the master counts 0, and the messages arrive all the same',
  () => {
    const fixture = LockFixture.use();
    const behindProxy = useLinkProxies(fixture);
    let replica: RedisServer;

    beforeAll(async () => {
      await fixture.redis.config('SET', 'repl-diskless-sync-delay', '0');
      replica = await startRedis({ args: ['--replicaof', '127.0.0.1', String(fixture.server.port)] });
      const redis = newRedis(replica.url);
      await waitFor(async () => /master_link_status:up/.test(await redis.info('replication')));
      redis.disconnect();
    });

    afterAll(async () => {
      await replica.stop();
    });

    test('it is marked, is not passed over, and is told of its grant', async () => {
      const [holder, other] = [fixture.client(), fixture.client()];
      const { client } = await behindProxy({}, replica.port);
      await openInboxes(fixture, other);
      const first = await holder.acquire('order', { ttl: '1m' });
      const mine = client.acquire('order', { ttl: '1m', wait: '1m' });
      await waitFor(async () => (await queueOf(fixture, 'order'))[0]?.endsWith('!'));
      const behind = other.acquire('order', { ttl: '1m', wait: '1m' });
      await untilQueued(fixture, 'order', 2);

      const log = await fixture.commandLog();
      await first.release();
      const lock = await mine;
      await lock.extend();
      // Told, and not found by asking.
      expect((await log.scripts()).filter((name) => name !== 'acquire')).toEqual(['release', 'renew']);
      expect((await queueOf(fixture, 'order')).length).toBe(1);
      expect(await lock.release()).toBe('released');
      await (await behind).release();
      await fixture.expectNothingLeft();
    });

    test('it gives up → nothing of it stays in the queue, marked or not', async () => {
      const holder = fixture.client();
      const { client } = await behindProxy({}, replica.port);
      const first = await holder.acquire('order', { ttl: '1m' });
      const stop = new AbortController();
      const mine = client.acquire('order', { wait: '1m', signal: stop.signal }).catch((error: unknown) => error);
      await waitFor(async () => (await queueOf(fixture, 'order'))[0]?.endsWith('!'));
      stop.abort();
      expect(await mine).toMatchObject({ code: 'LOCK_ABORTED' });
      await untilQueued(fixture, 'order', 0);
      await first.release();
      await fixture.expectNothingLeft();
    });
  },
);
