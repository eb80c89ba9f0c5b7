import { expect, test } from '@jest/globals';
import { describeWithRedis } from '../support/redis.js';
import { waitFor } from '../support/wait-for.js';
import { NestFixture, PLATFORMS } from './support/nest-fixture.js';
import { startReports } from './support/report-app.js';

describeWithRedis('How long a locked handler holds its lock', () => {
  const fixture = NestFixture.use();

  for (const platform of PLATFORMS) {
    const start = async () => startReports(fixture, platform);

    test(`a plain answer on ${platform} → the lock is free when it arrives`, async () => {
      const { server, reports } = await start();
      reports.leave.resolve();
      for (let round = 0; round < 20; round++) {
        expect((await server.post('/plain/7')).status).toBe(201);
        expect(await fixture.isLocked('report:7')).toBe(false);
        expect((await server.get('/passthrough/7')).json).toEqual({ plain: true, destroyed: false });
        expect(await fixture.isLocked('report:7')).toBe(false);
      }
    });

    test.each(['file', 'res', 'next', 'generator', 'readable', 'web'])(
      `a stream, %s, on ${platform} → held until it has ended`,
      async (route) => {
        const { server, reports, released } = await start();
        reports.stream.write('first ');
        const stream = await server.open(`/${route}/7`);
        await stream.untilText('first ');
        expect(await fixture.lockedKeys()).toEqual(['report:7']);
        expect((await server.get('/passthrough/7')).status).toBe(429);
        reports.stream.end('last');
        expect(await stream.rest()).toBe('first last');
        await fixture.expectNothingLocked();
        await waitFor(() => released.length > 0);
        expect(released).toHaveLength(1);
      },
    );

    test.each(['file', 'res'])(`a stream, %s, on ${platform}, whose client leaves → released`, async (route) => {
      const { server, reports, released } = await start();
      reports.stream.write('first ');
      const stream = await server.open(`/${route}/7`);
      await stream.untilText('first ');
      expect(await fixture.lockedKeys()).toEqual(['report:7']);
      stream.leave();
      await fixture.expectNothingLocked();
      await waitFor(() => released.length > 0);
      expect(released).toHaveLength(1);
    });
  }
});
