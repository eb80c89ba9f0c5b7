import { expect, test } from '@jest/globals';
import { LockLostError, type LockHandle } from 'nestjs-redis-lock';
import { describeWithRedisServer } from '../support/redis.js';
import { waitFor } from '../support/wait-for.js';
import { aborted, LockFixture, recordEvents, rejection, timed } from './support/lock-fixture.js';

describeWithRedisServer('Holding: a lock that is lost', () => {
  const fixture = LockFixture.use();

  test('case 11: somebody deletes the key → the signal aborts with the next renewal', async () => {
    const client = fixture.client();
    const lost = recordEvents(client, 'lost');
    const outcome = rejection(
      client.run(
        'order',
        async (lock) => {
          const log = await fixture.commandLog();
          await fixture.redis.del(fixture.redisKey('order'));
          const { reason } = await aborted(lock);
          expect(await log.scripts()).toEqual(['renew']);
          expect(reason).toBeInstanceOf(LockLostError);
          expect(reason).toMatchObject({ reason: 'taken', key: 'order', fencingToken: lock.fencingToken });
          expect(lock.held).toBe(false);
          return 'result';
        },
        { ttl: '3s' },
      ),
    );
    const error = await outcome;
    expect(error).toBeInstanceOf(LockLostError);
    expect(error).toMatchObject({ reason: 'taken', result: 'result' });
    expect(lost).toEqual([expect.objectContaining({ key: 'order', reason: 'taken' })]);
    await fixture.expectNothingLeft();
  });

  test('case 11: another owner is in the key → the signal aborts with the next renewal, and the other one is left alone', async () => {
    const client = fixture.client();
    const lock = await client.acquire('order', { ttl: '3s' });
    const log = await fixture.commandLog();
    const theirs = await fixture.giveToSomebodyElse('order');

    const { reason } = await aborted(lock);
    expect(await log.scripts()).toEqual(['renew']);
    expect(reason).toBeInstanceOf(LockLostError);
    expect(await lock.release()).toBe('lost');
    expect(await fixture.redis.hgetall(fixture.redisKey('order'))).toEqual(theirs);
    expect(await fixture.lease('order')).toBe(-1);
  });

  test('case 11: another owner is in the key and the holder releases before a renewal → lost, and the other one is left alone', async () => {
    const client = fixture.client();
    const lock = await client.acquire('order', { ttl: '1m' });
    const theirs = await fixture.giveToSomebodyElse('order');
    expect(await lock.release()).toBe('lost');
    expect(await fixture.redis.hgetall(fixture.redisKey('order'))).toEqual(theirs);
    expect(await fixture.lease('order')).toBe(-1);
  });

  test('case 13: a body starves the timers beyond the lease → the next line of the body is told', async () => {
    const [client, rival] = [fixture.client(), fixture.client()];
    const error = await rejection(
      client.run(
        'order',
        (lock) => {
          const { signal } = lock;
          expect(lock.held).toBe(true);
          lock.assertHeld();
          block(450);
          const seen = { held: lock.held, remaining: lock.remaining, aborted: signal.aborted };
          expect(seen).toEqual({ held: false, remaining: 0, aborted: true });
          expect(() => lock.assertHeld()).toThrow(LockLostError);
          return rival.tryAcquire('order');
        },
        { ttl: 400 },
      ),
    );
    expect(error).toBeInstanceOf(LockLostError);
    // Somebody else was free to work by then.
    expect(error).toMatchObject({ reason: 'expired', result: expect.objectContaining({ key: 'order', held: true }) });
  });

  test.each([
    { ttl: '10s', why: 'longer than maxHold' },
    { ttl: 300, why: 'shorter, and renewed until then' },
  ] as const)(
    'case 14: a body that never returns, its lease $why → freed at maxHold, signal aborted, event',
    async ({ ttl }) => {
      const [client, next] = [fixture.client(), fixture.client()];
      const lost = recordEvents(client, 'lost');
      const handles: LockHandle[] = [];
      const never = new Promise<never>(() => {});
      void client.run('order', async (lock) => (handles.push(lock), never), { ttl, maxHold: 800 });
      const [lock] = await waitFor(() => handles.length > 0 && handles);

      expect((await aborted(lock as LockHandle)).reason).toMatchObject({ code: 'LOCK_LOST', reason: 'maxHold' });
      expect(lost).toEqual([expect.objectContaining({ key: 'order', reason: 'maxHold' })]);
      expect(lost[0]?.heldMs).toBeGreaterThan(750);
      expect(lost[0]?.heldMs).toBeLessThan(8_000);

      // Free for others at once, and for this process.
      const { result: theirs, ms } = await timed(async () => next.acquire('order', { wait: '1m' }));
      expect(ms).toBeLessThan(5_000);
      await theirs.release();
      await (await client.acquire('order', { wait: 0 })).release();
      await fixture.expectNothingLeft();
    },
  );

  test('case 14: a body blocks the event loop beyond maxHold → the next line of it is told', async () => {
    const client = fixture.client();
    const error = await rejection(
      client.run(
        'order',
        (lock) => {
          block(150);
          expect([lock.held, lock.remaining]).toEqual([false, 0]);
          return 'result';
        },
        { ttl: '1m', maxHold: 100 },
      ),
    );
    expect(error).toMatchObject({ code: 'LOCK_LOST', reason: 'maxHold', result: 'result' });
    await fixture.expectNothingLeft();
  });

  test('case 18: a body ends after its lease, and Redis does not answer its release → lost, whoever looks', async () => {
    const client = fixture.client({ commandTimeout: 300 });
    await fixture.connected(client);
    const error = await rejection(
      client.run(
        'order',
        () => {
          fixture.server.pause();
          block(350);
          return 'result';
        },
        { ttl: 300, renew: false },
      ),
    );
    fixture.server.resume();
    expect(error).toMatchObject({ code: 'LOCK_LOST', reason: 'expired', result: 'result' });
    await fixture.expectNothingLeft();
  });
});

/** Nothing else runs meanwhile, timers neither. */
function block(ms: number): void {
  for (const started = performance.now(); performance.now() - started < ms;);
}
