import { expect, test } from '@jest/globals';
import { callsOf, inboxes, untilListening, untilQueued } from '../faults/support/queue.js';
import { describeWithRedisServer } from '../support/redis.js';
import { waitFor } from '../support/wait-for.js';
import { LockFixture, rejection } from './support/lock-fixture.js';

describeWithRedisServer('Many callers that wait', () => {
  const fixture = LockFixture.use();

  const connections = async (): Promise<number> =>
    Number(/connected_clients:(\d+)/.exec(await fixture.redis.info('clients'))?.[1]);

  /** How many connections there are when those of the tests before have ended: ours. */
  const onlyOurs = async (): Promise<number> => waitFor(async () => (await connections()) === 1 && 1);

  test('case 7: 100 callers wait 10 s for one key → under 2 % of a core, and at most 8 commands until they are refused', async () => {
    const process = fixture.process('../../faults/support/puppet.mjs', {
      url: fixture.server.url,
      prefix: fixture.prefix,
      wait: [{ key: 'order', options: { wait: '10s' }, callers: 100 }],
      late: true,
    });
    await process.said('ready');
    const holder = fixture.client();
    const first = await holder.acquire('order', { ttl: '10m' });
    const used = async (): Promise<number> => {
      const before = process.events.length;
      process.tell('cpu');
      return Number((await waitFor(() => process.events.slice(before).find(({ event }) => event === 'cpu'))).ms);
    };
    const log = await fixture.commandLog();
    process.tell('ask');
    await process.said('asked');
    const asked = performance.now();
    await untilQueued(fixture, 'order', 1);
    await untilListening(fixture, 1);
    const [cpuBefore, started] = [await used(), performance.now()];
    await waitFor(() => performance.now() - asked > 9_800);
    const share = ((await used()) - cpuBefore) / (performance.now() - started);
    const failed = (): unknown[] => process.events.filter(({ event }) => event === 'failed').map(({ code }) => code);
    await waitFor(() => failed().length === 100);
    expect(new Set(failed())).toEqual(new Set(['LOCK_TIMEOUT']));
    await untilQueued(fixture, 'order', 0);

    const scripts = await log.scripts();
    expect(share).toBeLessThan(0.02);
    expect(scripts.filter((script) => script === 'acquire').length).toBeLessThanOrEqual(8);
    // And one more that takes them all out of the queue.
    expect(scripts.filter((script) => script !== 'acquire')).toEqual(['release']);
    await first.release();
    process.kill('SIGTERM');
    await process.said('closed');
    await fixture.expectNothingLeft();
  });

  test('case 7: 100 callers whose time runs out one after another → a few commands a second, however many there are', async () => {
    const [holder, client] = [fixture.client(), fixture.client()];
    const first = await holder.acquire('order', { ttl: '10m' });
    const log = await fixture.commandLog();
    const started = performance.now();
    const waiting = Array.from({ length: 100 }, async (_, n) =>
      rejection(client.acquire('order', { wait: 2_000 + 30 * n })),
    );
    for (const error of await Promise.all(waiting)) expect(error).toMatchObject({ code: 'LOCK_TIMEOUT' });
    const seconds = (performance.now() - started) / 1_000;
    // The inbox is opened, polls, one question before the last deadline, and whoever leaves last.
    expect((await log.scripts()).length).toBeLessThanOrEqual(4 + 4 * seconds);
    await first.release();
    await fixture.expectNothingLeft();
  });

  test('case 8: 5,000 keys with a caller of two processes each at once → an inbox a process, nothing else, and nothing left', async () => {
    const before = await onlyOurs();
    const config = { url: fixture.server.url, prefix: fixture.prefix, keys: 5_000 };
    const processes = [0, 1].map(() => fixture.process('../../faults/support/crowd.mjs', config));
    for (const process of processes) await process.said('ready');
    await fixture.redis.config('RESETSTAT');
    for (const process of processes) process.tell('ask');
    for (const process of processes) expect(await process.said('settled')).toMatchObject({ outcomes: { done: 5_000 } });
    const channels = (await fixture.redis.pubsub('CHANNELS')) as string[];
    expect(channels.filter((channel) => !channel.startsWith(`${fixture.prefix}:inbox:`))).toEqual([]);
    expect(channels.length).toBeLessThanOrEqual(2);
    // One for commands, and one for the inbox of who had to wait.
    expect(await connections()).toBe(before + 2 + channels.length);
    expect(await callsOf(fixture, 'publish')).toBeLessThanOrEqual(5_000 + 2 * 5);
    expect(await fixture.redisKeys()).toEqual([`${fixture.prefix}:fence`]);
    for (const process of processes) process.tell('close');
    for (const process of processes) expect(await process.exit()).toEqual({ code: 0, signal: null });
    await waitFor(async () => (await connections()) === before);
    expect(await fixture.redis.pubsub('CHANNELS')).toEqual([]);
  });

  test('case 8: 1,000 keys with two callers each at once, in one client that has never waited → no inbox at all', async () => {
    const before = await onlyOurs();
    const client = fixture.client();
    await fixture.connected(client);
    await fixture.redis.config('RESETSTAT');
    let total = 0;
    await Promise.all(
      Array.from({ length: 2_000 }, async (_, n) => client.run(`order-${n % 1_000}`, () => total++, { wait: '1m' })),
    );
    expect(total).toBe(2_000);
    expect([await inboxes(fixture), await callsOf(fixture, 'publish')]).toEqual([[], 0]);
    expect(await connections()).toBe(before + 1);
    await fixture.expectNothingLeft();
  });
});
