import { expect, test } from '@jest/globals';
import type { LockClient } from 'nestjs-redis-lock';
import { LockFixture, timed } from '../cases/support/lock-fixture.js';
import { describeWithRedisServer } from '../support/redis.js';
import { waitFor } from '../support/wait-for.js';
import { LinkProxy } from './support/link-proxy.js';
import { inboxes, queueOf, untilListening, untilQueued } from './support/queue.js';

/** What takes pub/sub, or a part of it, away from a user that may do everything else. */
const FORBIDDEN = {
  'the channels': ['resetchannels'],
  PUBLISH: ['allchannels', '-publish'],
  SUBSCRIBE: ['allchannels', '-subscribe'],
  'the whole of pub/sub': ['resetchannels', '-@pubsub'],
};

describeWithRedisServer('Pub/sub that the server forbids', () => {
  const fixture = LockFixture.use();

  /** What users are warned of. */
  const told = (): string[] => fixture.warnings.filter((warning) => /pub\/sub/.test(warning));

  /** A client of a user with these rules, after `~<prefix>:*` and all commands. */
  async function limited(...rules: string[]): Promise<LockClient> {
    const username = `limited-${fixture.prefix}`;
    await fixture.redis.acl('SETUSER', username, 'on', '>secret', '~*', '+@all', ...rules);
    return fixture.client({
      connection: { host: '127.0.0.1', port: fixture.server.port, username, password: 'secret' },
      backoff: { initial: 20, max: 100 },
    });
  }

  test.each(Object.entries(FORBIDDEN))(
    '%s → who waits comes back by itself and is served, one warning, nothing left',
    async (_, rules) => {
      const holder = fixture.client();
      const client = await limited(...rules);
      const first = await holder.acquire('order', { ttl: '1m' });
      const served = Array.from({ length: 10 }, async () => client.run('order', () => true, { wait: '1m' }));
      await waitFor(() => told().length > 0);
      const log = await fixture.commandLog();
      // Again and again, and not in the rhythm of those who are told.
      await waitFor(async () => (await log.count('acquire')) >= 5);
      expect((await log.calls()).every(({ args }) => args[3] === undefined)).toBe(true);
      await first.release();
      expect(await Promise.all(served)).toEqual(Array.from({ length: 10 }, () => true));
      expect(told()).toEqual([expect.stringMatching(/pub\/sub.*SUBSCRIBE, PUBLISH and the channels/)]);
      await fixture.expectNothingLeft();
      expect(await inboxes(fixture)).toEqual([]);
    },
  );

  test.each(Object.entries(FORBIDDEN))(
    '%s → callers that keep the key closed for a time (minHold) are served one after another',
    async (_, rules) => {
      const client = await limited(...rules);
      const served = Array.from({ length: 5 }, async () =>
        client.run('order', () => true, { wait: '1m', ttl: '2s', minHold: 50 }),
      );
      const { ms } = await timed(async () => Promise.all(served));
      // 50 ms each, and a pause of 100 ms at most; who is forgotten waits for a minute.
      expect(ms).toBeLessThan(10_000);
      await waitFor(async () => fixture.isFree('order'));
      await fixture.expectNothingLeft();
    },
  );

  test('the server says so while a question is under way → nobody is left in a queue where he cannot be told', async () => {
    const holder = fixture.client();
    const username = `limited-${fixture.prefix}`;
    await fixture.redis.acl('SETUSER', username, 'on', '>secret', '~*', '+@all', 'resetchannels');
    const proxy = await LinkProxy.listen(fixture.server.port);
    try {
      const client = fixture.client({
        connection: { host: '127.0.0.1', port: proxy.port, username, password: 'secret' },
        backoff: { initial: 20, max: 100 },
        commandTimeout: '10s',
      });
      await fixture.connected(client);
      const locks = await Promise.all(['order', 'other'].map(async (key) => holder.acquire(key, { ttl: '1m' })));
      // The first one opens the inbox; the answer to the second one comes when that has failed.
      proxy.hold('inbox');
      const first = client.acquire('other', { wait: '1m' });
      await untilQueued(fixture, 'other', 1);
      proxy.hold('commands');
      const second = client.acquire('order', { wait: '1m' });
      await untilQueued(fixture, 'order', 1);
      proxy.letGo('inbox');
      await waitFor(() => told().length > 0);
      proxy.letGo('commands');
      await waitFor(async () => (await queueOf(fixture, 'order')).length === 0);
      for (const lock of locks) await lock.release();
      for (const acquiring of [first, second]) expect(await (await acquiring).release()).toBe('released');
      await fixture.expectNothingLeft();
    } finally {
      proxy.close();
    }
  });

  test.each(Object.entries(FORBIDDEN))(
    '%s → what it queued before it knew is not left behind, and costs nobody else anything',
    async (_, rules) => {
      const [holder, other] = [fixture.client(), fixture.client()];
      const client = await limited(...rules);
      const first = await holder.acquire('order', { ttl: '1m' });
      const stop = new AbortController();
      const mine = client.acquire('order', { wait: '1m', signal: stop.signal }).catch((error: unknown) => error);
      await waitFor(() => told().length > 0);
      const log = await fixture.commandLog();
      await waitFor(async () => (await log.count('acquire')) >= 1);
      stop.abort();
      expect(await mine).toMatchObject({ code: 'LOCK_ABORTED' });
      await waitFor(async () => (await queueOf(fixture, 'order')).length === 0, { timeoutMs: 2_000 });

      const acquiring = other.acquire('order', { ttl: '1m', wait: '1m' });
      await untilListening(fixture, 1);
      await untilQueued(fixture, 'order', 1);
      await first.release();
      await (await acquiring).release();
      await fixture.expectNothingLeft();
    },
  );

  test('a holder that may not publish releases → a waiter of another user gets the lock when it asks', async () => {
    const client = await limited('allchannels', '-publish');
    const other = fixture.client();
    const first = await client.acquire('order', { ttl: '1m' });
    const acquiring = other.acquire('order', { ttl: '1m', wait: '1m' });
    await untilListening(fixture, 1);
    await untilQueued(fixture, 'order', 1);
    expect(await first.release()).toBe('released');
    const lock = await acquiring;
    await lock.extend();
    expect(await lock.release()).toBe('released');
    await fixture.expectNothingLeft();
  });

  test('PUBSUB NUMSUB → nobody queues whose inbox is not open, so that no grant is made to nobody', async () => {
    const holder = fixture.client();
    const client = await limited('allchannels', '-pubsub|numsub');
    const first = await holder.acquire('order', { ttl: '1m' });
    const acquiring = client.acquire('order', { ttl: '1m', wait: '1m' });
    // Either it opens its inbox although nobody can count it, or it says that it asks again and again.
    await waitFor(async () => (await inboxes(fixture)).length === 1 || told().length === 1);
    await first.release();
    expect(await (await acquiring).release()).toBe('released');
    await fixture.expectNothingLeft();
  });

  test('nothing but what is outside of its prefix → told of grants as ever, and no warning', async () => {
    const { prefix } = fixture;
    const holder = fixture.client();
    const client = await limited('resetkeys', `~${prefix}:*`, 'resetchannels', `&${prefix}:*`);
    const first = await holder.acquire('order', { ttl: '1m' });
    const acquiring = client.acquire('order', { ttl: '1m', wait: '1m' });
    await untilListening(fixture, 1);
    await untilQueued(fixture, 'order', 1);
    await first.release();
    await (await acquiring).release();
    expect(told()).toEqual([]);
    await fixture.expectNothingLeft();
  });
});
