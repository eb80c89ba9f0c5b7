import { expect, test } from '@jest/globals';
import { LockLostError } from 'nestjs-redis-lock';
import { describeWithRedisServer } from '../support/redis.js';
import { waitFor } from '../support/wait-for.js';
import { aborted, LockFixture, rejection, timed } from './support/lock-fixture.js';

describeWithRedisServer('Holding: Redis is out of reach', () => {
  const fixture = LockFixture.use();

  test('case 12: Redis goes out of reach → the signal aborts while Redis still keeps the lease', async () => {
    const { proxy, client } = await fixture.clientBehindProxy();
    const lock = await client.acquire('order', { ttl: '3s' });
    const deadline = performance.now() + lock.remaining;
    proxy.refuse();
    proxy.cut();

    const { at, reason } = await aborted(lock);
    const left = await fixture.lease('order');
    expect(reason).toBeInstanceOf(LockLostError);
    expect(reason).toMatchObject({ reason: 'expired' });
    // The timer of a busy machine may be late, and then says so: by this machine's clock the lock was not held any more.
    const late = at - deadline;
    expect(late).toBeGreaterThan(-50);
    expect(late).toBeLessThan(1_000);
    expect(left + late).toBeGreaterThan(0);
    await proxy.accept();
    await fixture.expectNothingLeft();
  });

  test('case 12: the reply that gave or extended a lease is late → its deadline counts from when it was asked for', async () => {
    const { proxy, client } = await fixture.clientBehindProxy({ commandTimeout: '5s' });
    /** Waits for the reply to a command that Redis has carried out and that is kept back for 800 ms more. */
    const late = async <T>(reply: Promise<T>): Promise<T> => {
      await waitFor(async () => (await fixture.lease('order')) > 2_000);
      const carriedOut = performance.now();
      await waitFor(() => performance.now() - carriedOut > 800);
      proxy.releaseReplies();
      return reply;
    };

    proxy.holdReplies();
    const lock = await late(client.acquire('order', { ttl: '3s', renew: false, wait: '10s' }));
    expect(lock.remaining).toBeLessThanOrEqual(2_200);

    await waitFor(() => lock.remaining < 1_900);
    proxy.holdReplies();
    expect(await late(lock.extend('3s'))).toBeLessThanOrEqual(2_200);
    await lock.release();
    await fixture.expectNothingLeft();
  });

  test('case 12: Redis hangs while a body runs → the signal aborts within the lease, and the body is told', async () => {
    const client = fixture.client({ commandTimeout: 300 });
    const { result: error, ms } = await timed(async () =>
      rejection(
        client.run(
          'order',
          async (lock) => {
            fixture.server.pause();
            return (await aborted(lock)).reason;
          },
          { ttl: '1500ms' },
        ),
      ),
    );
    expect(error).toBeInstanceOf(LockLostError);
    expect(error).toMatchObject({ reason: 'expired', result: expect.any(LockLostError) });
    expect(ms).toBeLessThan(5_000);
    fixture.server.resume();
    await fixture.expectNothingLeft();
  });

  test('case 12: Redis is down → a client that holds and waits closes all the same', async () => {
    const { proxy, client } = await fixture.clientBehindProxy({ commandTimeout: 200 });
    await client.acquire('order', { ttl: '1m' });
    const waiting = rejection(client.acquire('order', { wait: '1m' }));
    proxy.close();
    const { ms } = await timed(async () => client.close());
    expect(await waiting).toMatchObject({ code: 'LOCK_SHUTDOWN' });
    expect(ms).toBeLessThan(5_000);
  });

  test.each(['kill', 'pause'] as const)(
    'case 12: Redis is gone (%s) while a process holds, waits, renews and releases → it does not crash, and ends by itself',
    async (disaster) => {
      const process = fixture.process('out-of-reach.mjs', { url: fixture.server.url, prefix: fixture.prefix });
      await process.said('holding');
      if (disaster === 'kill') await fixture.server.kill();
      else fixture.server.pause();
      try {
        const { outcomes } = await process.said('settled');
        expect(outcomes).toEqual({
          held: { LOCK_LOST: 20 },
          queued: { LOCK_UNAVAILABLE: 20 },
          released: { unknown: 20 },
        });
        expect(await process.exit()).toEqual({ code: 0, signal: null });
        expect(process.errors).not.toMatch(/error|reject/i);
      } finally {
        if (disaster === 'kill') await fixture.server.restart();
      }
    },
  );

  test('case 12: the process of the tests above does end with an error when a rejection is not handled', async () => {
    const process = fixture.process('out-of-reach.mjs', { unhandled: true });
    expect(await process.exit()).toEqual({ code: 1, signal: null });
    expect(process.errors).toMatch(/nobody handles this/);
  });
});
