import { expect, test } from '@jest/globals';
import { LockFixture } from '../cases/support/lock-fixture.js';
import { describeWithRedisServer } from '../support/redis.js';
import { documentedRights, makeUser, refusals } from '../topologies/support/acl.js';
import { haveListened } from './listening.js';

describeWithRedisServer('Semaphores and read/write locks of a user with the documented rights', () => {
  const fixture = LockFixture.use();

  test('case 47: everything works, and nothing is refused', async () => {
    await makeUser([fixture.server], 'locks', documentedRights(fixture.prefix));
    const connection = { host: '127.0.0.1', port: fixture.server.port, username: 'locks', password: 'secret' };
    const [one, other] = [fixture.client({ connection }), fixture.client({ connection })];
    const [mine, theirs] = [one.semaphore('pool', { permits: 2 }), other.semaphore('pool', { permits: 2 })];
    await haveListened(async () => mine.inspect(), mine, theirs, { take: 2 });
    const kept = await mine.acquire({ ttl: 900, minHold: 100 });
    await kept.extend('2s');
    expect(await kept.release()).toMatch(/released|kept/);

    const [reading, writing] = [one.readWrite('doc'), other.readWrite('doc')];
    await haveListened(async () => reading.inspect(), reading.read, writing.write);
    const writer = await writing.write.acquire();
    await writer.downgrade();
    await reading.read.run(async () => expect((await reading.inspect()).readers).toHaveLength(2));
    await writer.release();
    expect(await one.isLocked('doc')).toBe(false);
    await fixture.expectNothingLeft();
    expect(await refusals([fixture.server])).toEqual([]);
    expect(fixture.warnings.filter((warning) => /pub\/sub|permission/i.test(warning))).toEqual([]);
  });
});
