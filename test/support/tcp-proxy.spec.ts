import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { Redis } from 'ioredis';
import { describeWithRedis, newRedis, sharedRedisUrl, uniquePrefix } from './redis.js';
import { TcpProxy } from './tcp-proxy.js';
import { waitFor } from './wait-for.js';

describeWithRedis('TcpProxy', () => {
  let proxy: TcpProxy;
  let direct: Redis;
  let client: Redis;
  let key: string;

  beforeEach(async () => {
    proxy = await TcpProxy.listen(Number(new URL(sharedRedisUrl()).port));
    direct = newRedis();
    client = newRedis(proxy.url, { maxRetriesPerRequest: 0, retryStrategy: null });
    client.on('error', () => {});
    key = uniquePrefix();
    await client.set(key, 'before');
  });

  afterEach(async () => {
    client.disconnect();
    proxy.close();
    await direct.del(key);
    direct.disconnect();
  });

  test('passes everything on until it is told otherwise', async () => {
    expect(await client.get(key)).toBe('before');
    expect(proxy.connections).toBe(1);
  });

  test('holdReplies keeps the answer, not the command', async () => {
    proxy.holdReplies();
    let answered = false;
    const reply = client.set(key, 'held').finally(() => (answered = true));
    await waitFor(async () => (await direct.get(key)) === 'held');
    expect(answered).toBe(false);
    proxy.releaseReplies();
    expect(await reply).toBe('OK');
  });

  test('dropReplies loses the answer together with the connection', async () => {
    proxy.dropReplies(1);
    await expect(client.set(key, 'lost')).rejects.toThrow('Connection is closed');
    expect(await direct.get(key)).toBe('lost');
  });

  test('cut breaks the connections that are there', async () => {
    proxy.cut();
    await waitFor(() => client.status === 'end');
    expect(proxy.connections).toBe(0);
  });

  test('refuse keeps old connections and takes no new ones until accept', async () => {
    proxy.refuse();
    expect(await client.get(key)).toBe('before');
    const refused = newRedis(proxy.url, { lazyConnect: true, retryStrategy: null });
    refused.on('error', () => {});
    await expect(refused.connect()).rejects.toThrow('Connection is closed');

    await proxy.accept();
    await refused.connect();
    expect(await refused.get(key)).toBe('before');
    refused.disconnect();
  });
});
