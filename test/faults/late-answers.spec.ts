import { expect, test } from '@jest/globals';
import { LockFixture } from '../cases/support/lock-fixture.js';
import { describeWithRedisServer } from '../support/redis.js';
import { waitFor } from '../support/wait-for.js';
import { useLinkProxies } from './support/link-proxy.js';
import { pass, untilListening, untilQueued } from './support/queue.js';

describeWithRedisServer('Late answers: a grant is told while an older question is under way', () => {
  const fixture = LockFixture.use();
  const behindProxy = useLinkProxies(fixture);

  test('the answer is the grant that is being confirmed → the lock stays, and nobody else gets in', async () => {
    const holder = fixture.client();
    const { proxy, client } = await behindProxy({ commandTimeout: '5s' });
    const first = await holder.acquire('order', { ttl: '1m' });
    // With minHold, a grant is confirmed before the work starts.
    const acquiring = client.acquire('order', { ttl: '1m', wait: '1m', minHold: 1 });
    await untilListening(fixture, 1);
    await untilQueued(fixture, 'order', 1);
    await pass(100);

    const log = await fixture.commandLog();
    proxy.hold('commands');
    proxy.hold('inbox');
    await first.release();
    // It asks, and Redis answers that it has been granted the lock.
    await waitFor(async () => (await log.count('acquire')) === 1);
    proxy.letGo('inbox');
    await waitFor(async () => (await log.count('renew')) === 1);
    proxy.letGo('commands');

    const lock = await acquiring;
    await lock.extend();
    expect(await fixture.holds('order')).toEqual([expect.stringMatching(new RegExp(`/${lock.fencingToken}$`))]);
    expect(await log.count('release')).toBe(1);
    expect(await lock.release()).toBe('released');
    await fixture.expectNothingLeft();
  });

  test('the answer is that somebody else had it → the lock stays, and nobody else gets in', async () => {
    const holder = fixture.client();
    const { proxy, client } = await behindProxy({ commandTimeout: '5s' });
    const first = await holder.acquire('order', { ttl: '1m' });
    const acquiring = client.acquire('order', { ttl: '1m', wait: '1m', minHold: 1 });
    await untilListening(fixture, 1);
    await untilQueued(fixture, 'order', 1);
    await pass(100);

    const log = await fixture.commandLog();
    proxy.hold('commands');
    // It asks, and Redis answers that the lock is held.
    await waitFor(async () => (await log.count('acquire')) === 1);
    await first.release();
    await waitFor(async () => (await log.count('renew')) === 1);
    proxy.letGo('commands');

    const lock = await acquiring;
    await lock.extend();
    expect(await fixture.holds('order')).toEqual([expect.stringMatching(new RegExp(`/${lock.fencingToken}$`))]);
    expect(await log.count('release')).toBe(1);
    expect(await lock.release()).toBe('released');
    await fixture.expectNothingLeft();
  });
});
