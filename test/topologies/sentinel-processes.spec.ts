import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startRedis, type RedisServer } from '../../scripts/lib/servers.mjs';
import { startSentinelGroup } from '../../scripts/lib/topologies/index.mjs';
import { Crowd } from '../history/crowd.js';
import { describeWithRedisServer, newRedis, uniquePrefix } from '../support/redis.js';
import { waitFor } from '../support/wait-for.js';

const PROCESSES = 20;
/** Shorter than a failover takes: a lock that the new master has not heard of is over before it gives out another one. */
const LEASES = [500, 900];

describeWithRedisServer('Twenty processes, and a master with replicas and Sentinels', () => {
  let group: Awaited<ReturnType<typeof startSentinelGroup>>;
  let counters: RedisServer;

  beforeAll(async () => {
    [group, counters] = await Promise.all([startSentinelGroup(), startRedis()]);
  });
  afterAll(async () => {
    await Promise.all([group.stop(), counters.stop()]);
  });

  test('case 43: the master is killed → nobody overlaps, tokens grow, all go on', async () => {
    const prefix = uniquePrefix();
    const { connection } = group;
    const crowd = new Crowd({
      servers: () => ({ connection }),
      prefix,
      counterUrl: counters.url,
      processes: PROCESSES,
      callers: 2,
      ttls: LEASES,
      fair: 0.3,
    });
    try {
      await crowd.progress(2, 200, crowd.alive, 120_000);
      const failed = await group.currentMaster();
      await failed.kill();
      await waitFor(async () => (await group.currentMaster()) !== failed, { timeoutMs: 60_000 });
      await crowd.progress(2, 200, crowd.alive, 120_000);
      const outcome = await crowd.finish();
      expect(outcome).toEqual({ violations: [], failed: [], errors: '' });
      // About 2 s until the Sentinels agree, and what the clients need to find the new master.
      expect(crowd.longestGap()).toBeLessThan(60_000);

      const redis = newRedis((await group.currentMaster()).url);
      const left = async (): Promise<string[]> =>
        (await redis.keys(`${prefix}*`)).filter((key) => !key.endsWith(':fence'));
      await waitFor(async () => (await left()).length === 0).catch(() => undefined);
      expect(await left().finally(() => redis.disconnect())).toEqual([]);
    } finally {
      crowd.kill();
    }
  }, 400_000);
});
