import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { slotOf, tagOf } from '../../libs/redis-lock/src/stores/redis/slots.js';
import { startCluster } from '../../scripts/lib/topologies/index.mjs';
import { describeWithRedisServer } from '../support/redis.js';
import { waitFor } from '../support/wait-for.js';
import { Clients } from '../topologies/support/clients.js';
import { FrozenClient } from './frozen-client.js';

const MINUTE = 60_000;

describeWithRedisServer('Version 0.1 and this version side by side on a Cluster', () => {
  let cluster: Awaited<ReturnType<typeof startCluster>>;
  const clients = Clients.use(() => ({ cluster: cluster.seeds }));
  const opened: FrozenClient[] = [];

  beforeAll(async () => {
    cluster = await startCluster({ masters: 3, replicasPerMaster: 0 });
  });
  afterEach(() => {
    for (const client of opened.splice(0)) client.close();
  });
  afterAll(async () => cluster.stop());

  /** What 0.1 does for one key: it asks the node that has its slot, whose counter has the tag of that slot. */
  async function old(key: string): Promise<FrozenClient> {
    const slot = slotOf(`${clients.prefix}:{${key}}`);
    const { url } = await cluster.masterOf(slot);
    const client = await FrozenClient.connect(url, clients.prefix, undefined, `:{${tagOf(slot)}}`);
    opened.push(client);
    return client;
  }

  test.each(['order', 'stock', 'a:b'])(
    'case 55: %s is held by one of both, and goes from each to the other',
    async (key) => {
      const [frozen, client] = [await old(key), clients.make()];
      const member = frozen.nextMember();
      const [status, token] = await frozen.acquire(key, member, MINUTE);
      expect(status).toBe('acquired');
      await expect(client.acquire(key, { wait: 0 })).rejects.toMatchObject({
        code: 'LOCK_BUSY',
        holder: { holder: member },
      });
      const acquiring = client.acquire(key, { wait: '1m' });
      const inQueue = async (): Promise<number> => Number((await frozen.inspect(key))?.[3]);
      await waitFor(async () => (await inQueue()) === 1);
      expect(await frozen.release(key, member, String(token))).toEqual(['released']);
      const lock = await acquiring;
      expect(lock.fencingToken).toBeGreaterThan(Number(token));

      const waiting = frozen.nextMember();
      const answer = await frozen.acquire(key, waiting, MINUTE, '0');
      expect(answer.slice(0, 1)).toEqual(['held']);
      expect(await lock.release()).toBe('released');
      const got = await frozen.wait(key, waiting, MINUTE);
      expect(Number(got)).toBeGreaterThan(lock.fencingToken);
      await expect(client.acquire(key, { wait: 0 })).rejects.toMatchObject({ code: 'LOCK_BUSY' });
      expect(await frozen.release(key, waiting, got)).toEqual(['released']);
      await (await client.acquire(key, { wait: '20s' })).release();
    },
  );
});
