import { expect, test } from '@jest/globals';
import { Controller, Injectable, Param, Sse, type MessageEvent } from '@nestjs/common';
import { currentLock, Locked, LockedHandler } from 'nestjs-redis-lock';
import { Observable, Subject } from 'rxjs';
import { describeWithRedis } from '../support/redis.js';
import { waitFor } from '../support/wait-for.js';
import { NestFixture, PLATFORMS, recordEvents } from './support/nest-fixture.js';

@Injectable()
class Feed {
  source = new Subject<string>();

  events(id: string): Observable<MessageEvent> {
    return new Observable((subscriber) => {
      subscriber.next({ data: `open ${id} under ${currentLock().key}` });
      subscriber.add(
        this.source.subscribe({
          next: (data) => subscriber.next({ data }),
          error: (error) => subscriber.error(error),
          complete: () => subscriber.complete(),
        }),
      );
    });
  }
}

@Controller()
class FeedController {
  constructor(private readonly feed: Feed) {}

  @Sse('above/:id')
  @Locked('feed:<id>', { wait: '20s' })
  above(@Param('id') id: string): Observable<MessageEvent> {
    return this.feed.events(id);
  }

  @Locked('feed:<id>', { wait: '20s' })
  @Sse('below/:id')
  below(@Param('id') id: string): Observable<MessageEvent> {
    return this.feed.events(id);
  }

  @Sse('handler/:id')
  @LockedHandler('feed:<params.id>', { wait: '20s' })
  handler(@Param('id') id: string): Observable<MessageEvent> {
    return this.feed.events(id);
  }

  @Sse('impatient/:id')
  @Locked('feed:<id>', { wait: 0 })
  impatient(@Param('id') id: string): Observable<MessageEvent> {
    return this.feed.events(id);
  }

  @Sse('impatient-handler/:id')
  @LockedHandler('feed:<params.id>', { wait: 0 })
  impatientHandler(@Param('id') id: string): Observable<MessageEvent> {
    return this.feed.events(id);
  }
}

const ROUTES = ['above', 'below', 'handler'];

describeWithRedis('@Sse under a lock', () => {
  const fixture = NestFixture.use();

  for (const platform of PLATFORMS) {
    const start = async () => {
      const server = await fixture.server({ controllers: [FeedController], providers: [Feed], platform });
      return {
        server,
        feed: server.app.get(Feed),
        acquired: recordEvents(server.locks, 'acquired'),
        released: recordEvents(server.locks, 'released'),
        refused: recordEvents(server.locks, 'refused'),
      };
    };

    test.each(ROUTES)(`case 34: @Sse, %s, on ${platform} → held until the client goes away`, async (route) => {
      const { server, feed, released } = await start();
      const stream = await server.open(`/${route}/7`);
      await stream.untilText('open 7 under feed:7');
      feed.source.next('tick');
      await stream.untilText('tick');
      expect(await fixture.lockedKeys()).toEqual(['feed:7']);
      stream.leave();
      await fixture.expectNothingLocked();
      await waitFor(() => released.length > 0);
      expect(released).toHaveLength(1);
      expect(feed.source.observed).toBe(false);
    });

    test.each(ROUTES)(`case 34: @Sse, %s, on ${platform} → held until it completes or fails`, async (route) => {
      const { server, feed, released } = await start();
      for (const end of ['complete', 'error'] as const) {
        const stream = await server.open(`/${route}/7`);
        await stream.untilText('open 7 under feed:7');
        expect(await fixture.lockedKeys()).toEqual(['feed:7']);
        if (end === 'error') feed.source.error(new Error('it broke'));
        else feed.source.complete();
        feed.source = new Subject();
        expect(await stream.rest()).toContain(end === 'error' ? 'event: error' : 'open 7');
        await fixture.expectNothingLocked();
      }
      expect(released).toMatchObject([{ outcome: 'released' }, { outcome: 'released' }]);
    });

    test.each(ROUTES)(
      `case 34: @Sse, %s, on ${platform} → a client that leaves the queue takes no lock`,
      async (route) => {
        const { server, feed, acquired, refused } = await start();
        const elsewhere = await fixture.lockElsewhere('feed:7');
        const { asked } = await fixture.watchAsking('feed:7');
        const { client } = server.begin(`/${route}/7`);
        await asked();
        client.abort();
        await waitFor(() => refused.length > 0);
        expect(refused).toMatchObject([{ key: 'feed:7', code: 'LOCK_ABORTED' }]);
        await elsewhere.release();
        await fixture.expectNothingLocked();
        expect([acquired.length, feed.source.observed]).toEqual([0, false]);
      },
    );

    test.each(['impatient', 'impatient-handler'])(
      `@Sse, %s, on ${platform}, busy → the client is told, without the key`,
      async (route) => {
        const { server } = await start();
        await fixture.lockElsewhere('feed:7');
        // Nest sends 200 in the next turn of the event loop; whether Redis has answered by then decides on the status.
        const { status, text } = await server.get(`/${route}/7`);
        expect([200, 429]).toContain(status);
        expect(text).toContain('System busy, please try later');
        expect(text).not.toContain('feed:7');
      },
    );
  }
});
