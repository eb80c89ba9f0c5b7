import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startSentinelGroup } from '../../scripts/lib/topologies/index.mjs';
import { describeWithRedisServer } from '../support/redis.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { waitFor } from '../support/wait-for.js';
import { Clients } from './support/clients.js';

describeWithRedisServer('A failover that is told while a client asks for the master', () => {
  let group: Awaited<ReturnType<typeof startSentinelGroup>>;
  let proxies: TcpProxy[] = [];
  const clients = Clients.use(() => {
    const sentinels = proxies.map(({ port }) => ({ host: '127.0.0.1', port }));
    return { ...group.connection, sentinels, updateSentinels: false };
  });

  beforeAll(async () => {
    group = await startSentinelGroup();
    proxies = await Promise.all(group.sentinels.map(async ({ port }) => TcpProxy.listen(port)));
  });
  afterAll(async () => {
    for (const proxy of proxies) proxy.close();
    await group.stop();
  });

  test('case 43: both connections, of commands and of messages, come back by themselves', async () => {
    const [holder, waiter] = [clients.make(), clients.make()];
    const held = await holder.acquire('order', { ttl: '2s' });
    const waiting = waiter.acquire('order', { wait: '5s' }).catch(() => undefined);
    const failed = await group.currentMaster();
    // The Sentinels' answers are late, their messages are not.
    for (const proxy of proxies) proxy.delay('answers', () => 3_000);
    await failed.kill();
    await waitFor(async () => !(await group.namedMasters()).has(failed.port), { timeoutMs: 60_000 });
    for (const proxy of proxies) proxy.delay('answers', () => 0);
    await held.release();
    await (await waiting)?.release();

    for (const [one, other] of [
      [holder, waiter],
      [waiter, holder],
    ] as const) {
      const lock = await waitFor(async () => one.acquire('order', { wait: '20s' }).catch(() => undefined), {
        timeoutMs: 60_000,
      });
      const next = other.acquire('order', { wait: '20s' });
      await waitFor(async () => one.isLocked('order').catch(() => false));
      await lock.release();
      expect(await (await next).release()).toBe('released');
    }
  }, 240_000);
});
