import { expect, test } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { currentLock, Locked, LockBusyError, LockLostError } from 'nestjs-redis-lock';
import { defer, firstValueFrom, from, lastValueFrom, Observable, of, Subject, take, toArray } from 'rxjs';
import { describeWithRedis } from '../support/redis.js';
import { waitFor } from '../support/wait-for.js';
import { locksOf, NestFixture, recordEvents, rejection } from './support/nest-fixture.js';

@Injectable()
class Feeds {
  calls = 0;
  unsubscribed = 0;
  source = new Subject<string>();
  readonly heldInSource: string[] = [];

  @Locked('feed:<id>', { wait: 0 })
  feed(id: number): Observable<string> {
    this.calls += id > 0 ? 1 : 0;
    return defer(() => {
      this.heldInSource.push(currentLock().key);
      return new Observable<string>((subscriber) => {
        subscriber.add(this.source.subscribe(subscriber));
        subscriber.add(() => this.unsubscribed++);
      });
    });
  }

  @Locked('feed:<id>', { wait: '20s' })
  patient(id: number): Observable<number> {
    this.calls++;
    return of(id);
  }

  /** Never ends by itself, and never lets anybody else run: only who unsubscribes within a value ends it. */
  @Locked('feed:<id>', { wait: 0 })
  endless(id: number): Observable<number> {
    return from(this.manyValues(id));
  }

  private *manyValues(first: number): Generator<number> {
    for (let value = first; value < first + 1_000; value++) {
      this.calls++;
      yield value;
    }
  }

  @Locked('feed:<id>', { wait: 0, onBusy: 'skip' })
  skipped(id: number): Observable<number> {
    return of(id);
  }

  @Locked('feed:<id>', { wait: 0, returns: 'observable' })
  undeclared(id: number) {
    return of(id, currentLock().key);
  }
}

describeWithRedis('Observables under a lock', () => {
  const fixture = NestFixture.use();

  async function start() {
    const app = await fixture.module({ providers: [Feeds] });
    const [acquired, released] = [recordEvents(locksOf(app), 'acquired'), recordEvents(locksOf(app), 'released')];
    return { feeds: app.get(Feeds), locks: locksOf(app), acquired, released };
  }

  test('case 34: an Observable is cold → called and locked at each subscription, not before', async () => {
    const { feeds, acquired, released } = await start();
    const feed = feeds.feed(7);
    expect([feeds.calls, acquired.length]).toEqual([0, 0]);
    for (const round of [1, 2]) {
      const values = lastValueFrom(feed.pipe(toArray()));
      await waitFor(() => feeds.source.observed);
      feeds.source.next(`value ${round}`);
      feeds.source.complete();
      feeds.source = new Subject();
      expect(await values).toEqual([`value ${round}`]);
      expect([feeds.calls, acquired.length, released.length]).toEqual([round, round, round]);
    }
    expect(feeds.heldInSource).toEqual(['feed:7', 'feed:7']);
  });

  test('case 34: until it completes → held through every value, then released exactly once', async () => {
    const { feeds, released } = await start();
    const seen: string[] = [];
    const done = new Promise<void>((resolve, reject) =>
      feeds.feed(7).subscribe({ next: (value) => seen.push(value), complete: resolve, error: reject }),
    );
    await waitFor(() => feeds.source.observed);
    for (const value of ['a', 'b']) {
      feeds.source.next(value);
      expect(await rejection(firstValueFrom(feeds.feed(7)))).toBeInstanceOf(LockBusyError);
      expect(await fixture.isLocked('feed:7')).toBe(true);
    }
    feeds.source.complete();
    await done;
    // It is free when the subscriber hears of the end, not some time later.
    expect(released).toHaveLength(1);
    expect(await fixture.isLocked('feed:7')).toBe(false);
    expect(seen).toEqual(['a', 'b']);
    expect(released).toMatchObject([{ key: 'feed:7', outcome: 'released' }]);
  });

  test('case 34: until it fails → released exactly once, and the error is the same object', async () => {
    const { feeds, released } = await start();
    const failing = rejection(lastValueFrom(feeds.feed(7)));
    await waitFor(() => feeds.source.observed);
    const error = new Error('the source broke');
    feeds.source.error(error);
    expect(await failing).toBe(error);
    expect(released).toHaveLength(1);
    expect(await fixture.isLocked('feed:7')).toBe(false);
    expect(released).toMatchObject([{ outcome: 'released' }]);
  });

  test('case 34: until it is unsubscribed → released exactly once, and the source is left', async () => {
    const { feeds, released } = await start();
    const subscription = feeds.feed(7).subscribe();
    await waitFor(() => feeds.source.observed);
    subscription.unsubscribe();
    subscription.unsubscribe();
    expect(feeds.unsubscribed).toBe(1);
    await fixture.expectNothingLocked();
    await waitFor(() => released.length > 0);
    expect(released).toMatchObject([{ outcome: 'released' }]);
  });

  test('case 34: unsubscribed by the first value of a source that does not pause → the source is left at once', async () => {
    const { feeds, released } = await start();
    expect(await lastValueFrom(feeds.endless(7).pipe(take(2), toArray()))).toEqual([7, 8]);
    expect(feeds.calls).toBeLessThan(10);
    await fixture.expectNothingLocked();
    expect(released).toHaveLength(1);
  });

  test('case 34: unsubscribed while it waits for the lock → out of the queue, and no lock is left behind', async () => {
    const { feeds, locks, acquired } = await start();
    const refused = recordEvents(locks, 'refused');
    const elsewhere = await fixture.lockElsewhere('feed:7');
    const { asked } = await fixture.watchAsking('feed:7');
    const subscription = feeds.patient(7).subscribe({ error: () => refused.push(undefined as never) });
    await asked();
    subscription.unsubscribe();
    await waitFor(() => refused.length > 0);
    expect(refused).toMatchObject([{ key: 'feed:7', code: 'LOCK_ABORTED' }]);

    await elsewhere.release();
    expect(await fixture.client().tryRun('feed:7', () => 'free')).toEqual({ ran: true, value: 'free' });
    expect([feeds.calls, acquired.length]).toEqual([0, 0]);
    await fixture.expectNothingLocked();
  });

  test('case 34: unsubscribed in the tick in which it subscribed → the lock is given back, the method not called', async () => {
    const { feeds } = await start();
    for (let times = 0; times < 50; times++) feeds.patient(7).subscribe().unsubscribe();
    await fixture.expectNothingLocked();
    expect(await lastValueFrom(feeds.patient(7))).toBe(7);
    expect(feeds.calls).toBe(1);
  });

  test('case 34: lost while it runs → the error at its end is LockLostError with the last value', async () => {
    const { feeds } = await start();
    const failing = rejection(lastValueFrom(feeds.feed(7)));
    await waitFor(() => feeds.source.observed);
    feeds.source.next('last');
    await fixture.redis.del(fixture.redisKey('feed:7'));
    feeds.source.complete();
    const error = await failing;
    expect(error).toBeInstanceOf(LockLostError);
    expect(error).toMatchObject({ reason: 'taken', result: 'last' });
  });

  test('case 34: busy with onBusy skip → completes without a value; returns: observable where the type is not declared', async () => {
    const { feeds } = await start();
    expect(await lastValueFrom(feeds.undeclared(7).pipe(toArray()))).toEqual([7, 'feed:7']);
    await fixture.lockElsewhere('feed:7');
    expect(await lastValueFrom(feeds.skipped(7), { defaultValue: 'nothing' })).toBe('nothing');
  });
});
