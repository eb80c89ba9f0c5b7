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

  test('hold keeps one kind of traffic, and release sends it on in its order', async () => {
    proxy.hold('commands');
    const writes = [client.set(key, 'one'), client.append(key, ' two')];
    await direct.set(key, 'untouched');
    await direct.ping();
    expect(await direct.get(key)).toBe('untouched');
    proxy.release('commands');
    expect(await Promise.all(writes)).toEqual(['OK', 7]);

    proxy.hold('answers');
    let answered = false;
    const reply = client.set(key, 'held').finally(() => (answered = true));
    await waitFor(async () => (await direct.get(key)) === 'held');
    expect(answered).toBe(false);
    proxy.release('answers');
    expect(await reply).toBe('OK');
  });

  test('what a subscriber is sent are messages, not answers', async () => {
    const messages: string[] = [];
    const subscriber = newRedis(proxy.url);
    subscriber.on('message', (_, message) => messages.push(message));
    await subscriber.subscribe(key);
    proxy.hold('messages');
    const before = proxy.passed('messages');
    await direct.publish(key, 'late');
    expect(await client.get(key)).toBe('before');
    expect([messages, proxy.passed('messages')]).toEqual([[], before]);
    proxy.release('messages');
    await waitFor(() => messages.length === 1);
    expect(proxy.passed('messages')).toBe(before + 1);
    subscriber.disconnect();
  });

  test('delay makes one kind of traffic late, and nothing overtakes', async () => {
    const delays = [120, 0];
    proxy.delay('answers', () => delays.shift() ?? 0);
    const started = performance.now();
    const order: string[] = [];
    const slow = client.get(key).then(() => order.push('slow'));
    await waitFor(() => delays.length === 1);
    const quick = client.ping().then(() => order.push('quick'));
    await Promise.all([slow, quick]);
    expect(order).toEqual(['slow', 'quick']);
    expect(performance.now() - started).toBeGreaterThan(115);
  });

  test('passed counts what was sent on', async () => {
    const before = proxy.passed('commands');
    await client.get(key);
    await client.get(key);
    expect(proxy.passed('commands')).toBe(before + 2);
    proxy.hold('commands');
    const held = client.get(key);
    await direct.ping();
    expect(proxy.passed('commands')).toBe(before + 2);
    proxy.release('commands');
    await held;
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
