import { describe, expect, test } from '@jest/globals';
import { createLockClient, MemoryLockStore } from 'nestjs-redis-lock';
import { setTimeout as sleep } from 'node:timers/promises';
import { Link } from './link.js';

const logger = { warn: (): void => undefined };

describe('What random callers have found', () => {
  test('fair callers who wait behind minHold all get their turn', async () => {
    const store = new MemoryLockStore();
    await using client = createLockClient({ store, logger });
    // A process that crashes with the lock.
    await store.acquire({ key: 'k', member: 'crashed#1', leaseMs: 300, withinMs: 1_000 });
    const callers = Array.from({ length: 3 }, async () =>
      client.run('k', () => 'ran', { fair: true, minHold: 60, wait: '8s' }),
    );
    expect(await Promise.all(callers)).toEqual(['ran', 'ran', 'ran']);
  });

  test('a fair caller asks for itself when the one before it has gone while it asked', async () => {
    const store = new MemoryLockStore();
    const link = new Link(store);
    await using client = createLockClient({ store: link, logger });
    // A process that crashes with the lock.
    await store.acquire({ key: 'k', member: 'crashed#1', leaseMs: 2_000, withinMs: 1_000 });
    const first = new AbortController();
    const gone = client.acquire('k', { fair: true, wait: '8s', signal: first.signal }).catch(() => 'gone');
    const next = client.run('k', () => 'ran', { fair: true, wait: '8s' });
    await sleep(1_000);
    // They ask again after 1.5 s; the first one goes before it is answered.
    Object.assign(link.faults, { lateAnswers: 1, byMs: 200 });
    await sleep(600);
    first.abort();
    expect(await Promise.all([gone, next])).toEqual(['gone', 'ran']);
  });

  test('a grant that is being confirmed is not given back when the answer before it arrives', async () => {
    const store = new MemoryLockStore();
    const link = new Link(store);
    await using client = createLockClient({ store: link, logger });
    await using other = createLockClient({ store, logger });
    // Opens the inbox.
    const before = await other.acquire('k');
    const opening = client.acquire('k');
    await sleep(20);
    await before.release();
    await (await opening).release();

    const held = await other.acquire('k');
    Object.assign(link.faults, { lateAnswers: 2, byMs: 50 });
    const waiting = client.acquire('k');
    await sleep(10);
    // The grant is told at once, before the waiting caller has heard that it waits.
    await held.release();
    await using lock = await waiting;
    await sleep(20);
    expect([lock.held, await other.tryAcquire('k')]).toEqual([true, null]);
  });
});
