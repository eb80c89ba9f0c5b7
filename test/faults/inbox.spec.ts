import { expect, test } from '@jest/globals';
import type { LockClient, LockHandle } from 'nestjs-redis-lock';
import { RedisLockStore } from '../../libs/redis-lock/src/stores/redis/redis.store.js';
import { LockFixture } from '../cases/support/lock-fixture.js';
import { describeWithRedisServer } from '../support/redis.js';
import { waitFor } from '../support/wait-for.js';
import { LinkProxy, useLinkProxies } from './support/link-proxy.js';
import { callsOf, inboxes, inboxOf, openInboxes, queueOf, untilListening, untilQueued } from './support/queue.js';

describeWithRedisServer('The inbox of a waiter is cut, silent or late', () => {
  const fixture = LockFixture.use();
  const behindProxy = useLinkProxies(fixture);

  async function scene(options: { commandTimeout?: number } = {}): Promise<{
    first: LockHandle;
    proxy: LinkProxy;
    client: LockClient;
    other: LockClient;
  }> {
    const [holder, other] = [fixture.client(), fixture.client()];
    const { proxy, client } = await behindProxy(options);
    await openInboxes(fixture, client, other);
    return { first: await holder.acquire('order', { ttl: '1m' }), proxy, client, other };
  }

  test('cut → it is opened again, all keys are asked for once more, and the next grant is told', async () => {
    const { first, proxy, client } = await scene();
    const acquiring = client.acquire('order', { ttl: '1m', wait: '1m' });
    const before = await untilQueued(fixture, 'order', 1);
    proxy.cut('inbox');
    await untilListening(fixture, 1);
    const log = await fixture.commandLog();
    await untilListening(fixture, 2);
    await waitFor(async () => (await log.count('acquire')) >= 1);
    expect(await queueOf(fixture, 'order')).toEqual(before);
    await first.release();
    const lock = await acquiring;
    expect(await lock.release()).toBe('released');
    await fixture.expectNothingLeft();
  });

  test('cut while it is being opened → it is opened again, and only then counts as open', async () => {
    const proxy = await LinkProxy.listen(fixture.server.port);
    const { prefix } = fixture;
    const store = new RedisLockStore({ connection: proxy.url, prefix, commandTimeoutMs: 10_000, logger: console });
    const listening: Promise<number>[] = [];
    const opened = (): void => {
      listening.push(inboxes(fixture).then(({ length }) => length));
    };
    try {
      const inbox = store.grants('instance', { granted: () => {}, opened, refused: () => {} });
      await store.inspect('order');
      await fixture.redis.config('RESETSTAT');
      proxy.hold('commands');
      inbox.open();
      // It has subscribed, and asks whether it may publish.
      await waitFor(async () => (await callsOf(fixture, 'publish')) === 1);
      proxy.cut('inbox');
      await untilListening(fixture, 0);
      const connectedAnew = async (): Promise<boolean> => / cmd=info /.test(String(await fixture.redis.client('LIST')));
      await waitFor(connectedAnew, { what: 'it is connected anew' });
      proxy.letGo('commands');
      await untilListening(fixture, 1);
      await waitFor(() => listening.length > 0);
      expect(await Promise.all(listening)).toEqual([1]);
    } finally {
      await store.close();
      proxy.close();
    }
  });

  test('a grant is made while it is cut → the waiter gets the lock all the same', async () => {
    const { first, proxy, client } = await scene();
    const acquiring = client.acquire('order', { ttl: '1m', wait: '1m' });
    await untilQueued(fixture, 'order', 1);
    proxy.cut('inbox');
    await first.release();
    const lock = await acquiring;
    await lock.extend();
    expect(await lock.release()).toBe('released');
    await fixture.expectNothingLeft();
  });

  test('down while others are served → the waiter keeps its place before those that came later', async () => {
    const { first, proxy, client, other } = await scene();
    const late = fixture.client();
    await openInboxes(fixture, late);
    const mine = client.acquire('order', { ttl: '1m', wait: '1m' });
    const [member] = await untilQueued(fixture, 'order', 1);
    const [second, third] = [other.acquire('order', { wait: '1m' }), late.acquire('order', { wait: '1m' })];
    await untilQueued(fixture, 'order', 3);
    const inbox = inboxOf(fixture, String(member));

    proxy.refuse();
    proxy.cut('inbox');
    await waitFor(async () => !(await inboxes(fixture)).includes(inbox));
    await first.release();
    // Nobody listens for it: it is passed over, and comes back when it asks.
    const theirs = await Promise.race([second, third]);
    await waitFor(async () => (await queueOf(fixture, 'order'))[0] === member);
    await proxy.accept();
    await waitFor(async () => (await inboxes(fixture)).includes(inbox));

    await theirs.release();
    const lock = await mine;
    expect(await queueOf(fixture, 'order')).toHaveLength(1);
    expect(await lock.release()).toBe('released');
    for (const each of [second, third]) await (await each).release();
    await fixture.expectNothingLeft();
  });

  test('half open, so that Redis goes on counting it → grants are found by asking, and it is opened anew', async () => {
    const { first, proxy, client, other } = await scene({ commandTimeout: 300 });
    proxy.freeze('inbox');
    const before = proxy.count('inbox');
    expect(before).toBe(1);
    let held = first;
    for (let round = 0; round < 2; round++) {
      const acquiring = client.acquire('order', { ttl: '1m', wait: '1m' });
      await untilQueued(fixture, 'order', 1);
      await held.release();
      const lock = await acquiring;
      expect(await lock.release()).toBe('released');
      held = await other.acquire('order', { ttl: '1m' });
    }
    // It doubts its inbox, which does not answer, and makes another one.
    const acquiring = client.acquire('order', { ttl: '1m', wait: '1m' });
    const [member] = await untilQueued(fixture, 'order', 1);
    const listening = async (): Promise<number> =>
      Number((await fixture.redis.pubsub('NUMSUB', inboxOf(fixture, String(member))))[1]);
    await waitFor(async () => (await listening()) >= 2, { what: 'the dead one and a new one' });
    const log = await fixture.commandLog();
    await waitFor(async () => (await log.count('acquire')) > 0);
    await held.release();
    const lock = await acquiring;
    expect(await lock.release()).toBe('released');
    await fixture.expectNothingLeft();
  });

  test('silent for a while → the lock is found by asking, and what is told later changes nothing', async () => {
    const { first, proxy, client, other } = await scene();
    const acquiring = client.acquire('order', { ttl: '1m', wait: '1m' });
    await untilQueued(fixture, 'order', 1);
    proxy.hold('inbox');
    await first.release();
    const lock = await acquiring;
    await lock.extend();
    proxy.letGo('inbox');
    await lock.extend();
    expect(lock.held).toBe(true);
    expect(await fixture.holds('order')).toEqual([expect.stringMatching(new RegExp(`/${lock.fencingToken}$`))]);
    proxy.hold('inbox');
    expect(await lock.release()).toBe('released');
    const theirs = await other.acquire('order', { ttl: '1m' });
    proxy.letGo('inbox');
    await theirs.extend();
    expect(await theirs.release()).toBe('released');
    await fixture.expectNothingLeft();
  });

  test('granted on an inbox that is newer than its last question → the waiter makes sure before it works', async () => {
    const { first, proxy, client } = await scene({ commandTimeout: 10_000 });
    let obtained = false;
    const acquiring = client.acquire('order', { ttl: '1m', wait: '1m' }).finally(() => (obtained = true));
    const [member = ''] = await untilQueued(fixture, 'order', 1);
    const log = await fixture.commandLog();
    // What it asks from now on is not answered.
    proxy.hold('commands');
    proxy.cut('inbox');
    const listening = async (): Promise<boolean> => (await inboxes(fixture)).includes(inboxOf(fixture, member));
    await waitFor(async () => !(await listening()));
    await waitFor(listening);
    await first.release();
    await waitFor(async () => (await log.count('renew')) === 1);
    expect(obtained).toBe(false);
    proxy.letGo('commands');
    const lock = await acquiring;
    expect(await fixture.holds('order')).toEqual([`${member}/${lock.fencingToken}`]);
    expect(await lock.release()).toBe('released');
    await fixture.expectNothingLeft();
  });

  test('a grant is told after it is void → nobody works under it without asking', async () => {
    const { first, proxy, client } = await scene({ commandTimeout: 10_000 });
    let obtained = false;
    const acquiring = client.acquire('order', { ttl: '1m', wait: '1m' }).finally(() => (obtained = true));
    await untilQueued(fixture, 'order', 1);
    const log = await fixture.commandLog();
    proxy.hold('inbox');
    proxy.hold('commands');
    await first.release();
    const [grant] = (await fixture.fields('order')).filter((field) => field !== '@until');
    const until = Number(await fixture.redis.hget(fixture.redisKey('order'), '@until'));
    await waitFor(async () => Number((await fixture.redis.time())[0]) * 1_000 > until + 1_000);
    proxy.letGo('inbox');
    await waitFor(async () => (await log.count('renew')) === 1);
    expect(obtained).toBe(false);
    proxy.letGo('commands');
    const lock = await acquiring;
    await lock.extend();
    expect(grant).not.toMatch(new RegExp(`/${lock.fencingToken}$`));
    expect(await fixture.holds('order')).toEqual([expect.stringMatching(new RegExp(`/${lock.fencingToken}$`))]);
    expect(await lock.release()).toBe('released');
    await fixture.expectNothingLeft();
  });

  test('told of a grant that is older than what it knows → it does not believe it', async () => {
    const { first, client } = await scene();
    const acquiring = client.acquire('order', { ttl: '1m', wait: '1m' });
    const [member = ''] = await untilQueued(fixture, 'order', 1);
    const log = await fixture.commandLog();
    const name = fixture.redisKey('order');
    for (const token of [1_000, first.fencingToken - 1, first.fencingToken]) {
      expect(await fixture.redis.publish(inboxOf(fixture, member), `${token} ${member} ${name}`)).toBe(1);
    }
    // Neither taken, nor given back, nor asked for before its time.
    await waitFor(async () => (await log.count('acquire')) > 0);
    expect(new Set(await log.scripts())).toEqual(new Set(['acquire']));
    expect(await queueOf(fixture, 'order')).toEqual([member]);
    await first.release();
    await (await acquiring).release();
    await fixture.expectNothingLeft();
  });
});
