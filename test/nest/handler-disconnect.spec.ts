import { expect, test } from '@jest/globals';
import type { LockTimeoutError } from 'nestjs-redis-lock';
import { describeWithRedis } from '../support/redis.js';
import { waitFor } from '../support/wait-for.js';
import { NestFixture, PLATFORMS, rejection } from './support/nest-fixture.js';
import { startReports } from './support/report-app.js';

describeWithRedis('A client of a locked handler that goes away', () => {
  const fixture = NestFixture.use();

  for (const platform of PLATFORMS) {
    const start = async () => startReports(fixture, platform);

    test.each(['plain', 'locked'])(
      `case 6: the client of %s on ${platform} disconnects in the handler → released when the handler ends`,
      async (route) => {
        const { server, reports, released } = await start();
        const { client } = server.begin(`/${route}/7`, { method: 'POST' });
        await reports.entered.promise;
        await server.abandon(client);
        expect(await fixture.lockedKeys()).toEqual(['report:7']);
        expect(released).toEqual([]);

        reports.leave.resolve();
        await fixture.expectNothingLocked();
        await waitFor(() => released.length > 0);
        expect(released).toMatchObject([{ key: 'report:7', outcome: 'released' }]);
        expect((await server.post(`/${route}/7`)).status).toBe(201);
      },
    );

    test(`case 6: a client on ${platform} that disconnects while it waits → out of the queue, the lock is not taken`, async () => {
      const { server, reports, acquired, refused } = await start();
      const elsewhere = await fixture.lockElsewhere('report:7');
      const { asked } = await fixture.watchAsking('report:7');
      const { client } = server.begin('/plain/7', { method: 'POST' });
      await asked();
      client.abort();
      await waitFor(() => refused.length > 0);
      expect(refused).toMatchObject([{ key: 'report:7', code: 'LOCK_ABORTED' }]);

      await elsewhere.release();
      reports.leave.resolve();
      expect((await server.post('/plain/7')).status).toBe(201);
      expect([reports.calls, acquired.length]).toEqual([1, 1]);
      await fixture.expectNothingLocked();
    });

    test(`case 6: a client on ${platform} that disconnects in the queue behind another request → only it leaves`, async () => {
      const { server, reports, refused } = await start();
      const first = server.post('/plain/7');
      await reports.entered.promise;
      const { client } = server.begin('/plain/7', { method: 'POST' });
      // A caller that gives up at once is told how many queue, itself included.
      await waitFor(async () => {
        const error = await rejection(server.locks.acquire('report:7', { wait: 1 }));
        return (error as LockTimeoutError).waiting === 2;
      });
      client.abort();
      await waitFor(() => refused.some(({ code }) => code === 'LOCK_ABORTED'));

      const third = server.post('/plain/7');
      reports.leave.resolve();
      expect([(await first).status, (await third).status]).toEqual([201, 201]);
      expect(reports.calls).toBe(2);
      await fixture.expectNothingLocked();
    });
  }
});
