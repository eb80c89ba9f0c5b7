import { expect, test } from '@jest/globals';
import { LockLostError } from 'nestjs-redis-lock';
import { describeWithRedisServer } from '../support/redis.js';
import { waitFor } from '../support/wait-for.js';
import { aborted, LockFixture, recordEvents, rejection } from './support/lock-fixture.js';

describeWithRedisServer('Holding: whose lease it is', () => {
  const fixture = LockFixture.use();

  test('case 16: a short lease after a long one of the same process → short, also after its renewals', async () => {
    const client = fixture.client();
    const long = await client.acquire('order', { ttl: '1h' });
    await long.extend('2h');
    const acquiring = client.acquire('order', { ttl: 1_000, wait: '1m' });
    await long.release();

    const short = await acquiring;
    const leases = [await fixture.lease('order')];
    for (let n = 0; n < 3; n++) {
      await fixture.untilRenewed('order', 1);
      leases.push(await fixture.lease('order'));
    }
    expect(Math.max(...leases)).toBeLessThanOrEqual(1_000);
    expect(short.remaining).toBeLessThanOrEqual(1_000);
    expect(await short.release()).toBe('released');
    await fixture.expectNothingLeft();
  });

  test('case 16: a long lease after a short one of the same process → long from its first moment', async () => {
    const client = fixture.client();
    const short = await client.acquire('order', { ttl: 500 });
    const acquiring = client.acquire('order', { ttl: '1h', wait: '1m' });
    await fixture.untilRenewed('order', 2);
    await short.release();

    const long = await acquiring;
    expect(await fixture.lease('order')).toBeGreaterThan(3_500_000);
    expect(long.remaining).toBeGreaterThan(3_500_000);
    expect(await long.release()).toBe('released');
    await fixture.expectNothingLeft();
  });

  test('case 16: a fixed lease after a renewed one → nobody renews it, and it ends', async () => {
    const client = fixture.client();
    const lost = recordEvents(client, 'lost');
    const renewed = await client.acquire('order', { ttl: 400 });
    const acquiring = client.acquire('order', { ttl: 600, renew: false, wait: '1m' });
    await fixture.untilRenewed('order', 2);
    await renewed.release();

    const fixed = await acquiring;
    const log = await fixture.commandLog();
    expect((await aborted(fixed)).reason).toMatchObject({ reason: 'expired' });
    expect(await log.count('renew')).toBe(0);
    expect(lost).toEqual([expect.objectContaining({ fencingToken: fixed.fencingToken })]);
    await fixture.expectNothingLeft();
  });

  test('case 16: a lock without minHold after one with it → free at once when it is released', async () => {
    const client = fixture.client();
    const resting = await client.acquire('order', { ttl: '1m', minHold: 400 });
    const acquiring = client.acquire('order', { ttl: '1m', wait: '1m' });
    expect(await resting.release()).toBe('kept');
    expect(await (await acquiring).release()).toBe('released');
    await fixture.expectNothingLeft();
  });

  test('case 16: locks with different leases are renewed together → each by its own', async () => {
    const client = fixture.client();
    const leases = { long: 1_020, middle: 960, short: 900 };
    const locks = await Promise.all(Object.entries(leases).map(async ([key, ttl]) => client.acquire(key, { ttl })));
    for (let n = 0; n < 3; n++) {
      await fixture.untilRenewed('long', 1);
      for (const [key, ttl] of Object.entries(leases)) expect(await fixture.lease(key)).toBeLessThanOrEqual(ttl);
    }
    expect(locks.map(({ held }) => held)).toEqual([true, true, true]);
    await Promise.all(locks.map(async (lock) => lock.release()));
    await fixture.expectNothingLeft();
  });

  test('case 17: a renewal arrives after the release → the lock does not come back', async () => {
    const client = fixture.client();
    const log = await fixture.commandLog();
    const lock = await client.acquire('order', { ttl: 900 });
    await fixture.untilRenewed('order', 1);
    expect(await lock.release()).toBe('released');

    // The very command that the client sent, once more.
    const renewal = (await log.calls()).findLast(({ script }) => script === 'renew');
    const [name = '', ...args] = renewal?.command ?? [];
    await fixture.redis.call(name, ...args);
    expect(await fixture.isFree('order')).toBe(true);
    await fixture.expectNothingLeft();
  });

  test('case 17: a renewal arrives when the next one holds the key → the next one and its lease are left alone', async () => {
    const client = fixture.client();
    const log = await fixture.commandLog();
    const lock = await client.acquire('order', { ttl: '3s' });
    await fixture.untilRenewed('order', 1);
    expect(await lock.release()).toBe('released');
    const next = await client.acquire('order', { ttl: 1_000, renew: false });
    const before = await fixture.redis.hgetall(fixture.redisKey('order'));

    const renewal = (await log.calls()).findLast(({ script }) => script === 'renew');
    const [name = '', ...args] = renewal?.command ?? [];
    await fixture.redis.call(name, ...args);
    expect(await fixture.redis.hgetall(fixture.redisKey('order'))).toEqual(before);
    expect(await fixture.lease('order')).toBeLessThanOrEqual(1_000);
    expect(await next.release()).toBe('released');
    await fixture.expectNothingLeft();
  });

  test('case 17: extend after the lease has ended → lost, and the key stays free', async () => {
    const client = fixture.client();
    const lock = await client.acquire('order', { ttl: 300, renew: false });
    await waitFor(async () => fixture.isFree('order'));
    expect(await rejection(lock.extend('1m'))).toBeInstanceOf(LockLostError);
    expect(await fixture.isFree('order')).toBe(true);
    await fixture.expectNothingLeft();
  });

  test('case 17: extend when Redis no longer has the lock, though it should → lost, and the key stays free', async () => {
    const client = fixture.client();
    const lock = await client.acquire('order', { ttl: '1m' });
    await fixture.redis.del(fixture.redisKey('order'));
    expect(lock.held).toBe(true);
    const error = await rejection(lock.extend('2m'));
    expect(error).toBeInstanceOf(LockLostError);
    expect(error).toMatchObject({ reason: 'taken' });
    expect(lock.signal.reason).toBe(error);
    expect(await fixture.isFree('order')).toBe(true);
    await fixture.expectNothingLeft();
  });
});
