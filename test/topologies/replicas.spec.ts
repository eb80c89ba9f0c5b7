import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { LockArgumentError, LockUnavailableError, type LockClientOptions } from 'nestjs-redis-lock';
import { startRedis, type RedisServer } from '../../scripts/lib/servers.mjs';
import { CommandLog } from '../cases/support/command-log.js';
import { describeWithRedisServer } from '../support/redis.js';
import { documentedRights, makeUser, refusals } from './support/acl.js';
import { waitFor } from '../support/wait-for.js';
import { Clients } from './support/clients.js';

describeWithRedisServer('Replicas that acknowledge', () => {
  let master: RedisServer;
  let replicas: RedisServer[];
  let redis: Redis;
  const clients = Clients.use(() => master.url);

  beforeAll(async () => {
    master = await startRedis({ args: ['--repl-diskless-sync-delay', '0'] });
    const args = ['--replicaof', '127.0.0.1', String(master.port)];
    replicas = await Promise.all([startRedis({ args }), startRedis({ args })]);
    redis = new Redis(master.url);
    await replicasAreOnline(2);
  });
  afterEach(async () => {
    for (const replica of replicas) replica.resume();
    await replicasAreOnline(2);
  });
  afterAll(async () => {
    redis.disconnect();
    await Promise.all([master, ...replicas].map(async (server) => server.stop()));
  });

  async function replicasAreOnline(count: number): Promise<void> {
    await waitFor(async () => (await redis.info('replication')).match(/state=online/g)?.length === count);
  }

  const refusal = async (promise: Promise<unknown>): Promise<LockUnavailableError> => {
    const error: unknown = await promise.catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(LockUnavailableError);
    return error as LockUnavailableError;
  };

  test('case 46: off → no WAIT is ever sent', async () => {
    const log = await CommandLog.start(redis);
    await clients.make({ replicas: { ack: 1 } }).run('order', () => undefined, { replicas: false });
    await clients.make().run('order', () => undefined);
    expect((await log.names()).filter((name) => name === 'wait')).toEqual([]);
    expect(await log.count('acquire')).toBe(2);
    log.stop();
  });

  test.each([1, 2, 'quorum'] as const)(
    'ack: %p → every replica that counts has the lock before the work starts',
    async (ack) => {
      const client = clients.make({ replicas: { ack, timeout: '5s' } });
      const seen = await client.run('order', async () =>
        Promise.all(
          replicas.map(async ({ url }) => {
            const replica = new Redis(url);
            const there = await replica.exists(`${clients.prefix}:{order}`);
            replica.disconnect();
            return there;
          }),
        ),
      );
      expect(seen.reduce((sum, there) => sum + there)).toBeGreaterThanOrEqual(ack === 'quorum' ? 1 : ack);
    },
  );

  test('case 46: one of two is paused → 1 and quorum go on, 2 is refused at its timeout and leaves nothing', async () => {
    const client = clients.make();
    // Both have been seen.
    await client.run('order', () => undefined, { replicas: { ack: 'quorum' } });
    replicas[0]?.pause();
    await client.run('order', () => undefined, { replicas: { ack: 1 } });
    await client.run('order', () => undefined, { replicas: { ack: 'quorum' } });

    for (const wait of [0, 20_000]) {
      const began = performance.now();
      const error = await refusal(client.acquire('order', { wait, replicas: { ack: 2, timeout: 150 } }));
      expect(performance.now() - began).toBeGreaterThanOrEqual(145);
      expect(performance.now() - began).toBeLessThan(3_000);
      expect(error.acknowledged).toBe(1);
      expect(error.message).toContain('1 of 2 replicas acknowledged it within 150 ms');
      expect(await redis.exists(`${clients.prefix}:{order}`)).toBe(0);
    }
  });

  test('case 47: works for the user that the README describes, with WAIT', async () => {
    await makeUser([master], clients.prefix, [...documentedRights(clients.prefix), '+wait']);
    const client = clients.make({ connection: { port: master.port, username: clients.prefix, password: 'secret' } });
    for (const ack of [1, 'quorum'] as const)
      await client.run('order', () => undefined, { replicas: { ack, timeout: '5s' } });
    expect(await refusals([master])).toEqual([]);
  });

  test('a lock that is passed on waits for replicas as well, and whoever does not ask for them is not refused', async () => {
    const [one, other] = [clients.make(), clients.make()];
    replicas[0]?.pause();
    const held = await one.acquire('order');
    const strict = other.acquire('order', { wait: '20s', replicas: { ack: 2, timeout: 50 } });
    const refused = refusal(strict);
    const plain = other.acquire('order', { wait: '20s' });
    await waitFor(async () => (await redis.zcard(`${clients.prefix}:{order}:queue`)) > 0);
    await held.release();
    expect((await refused).acknowledged).toBe(1);
    await (await plain).release();
    await waitFor(async () =>
      (await redis.keys(`${clients.prefix}:*`)).every((name) => name === `${clients.prefix}:fence`),
    );
  });

  test('what waits for replicas holds up nothing else', async () => {
    const client = clients.make();
    replicas.forEach((replica) => replica.pause());
    const slow = Array.from({ length: 20 }, async (_, n) =>
      client.acquire(`slow:${n}`, { wait: '50s', replicas: { ack: 1, timeout: '50s' } }),
    );
    const eightWait = async (): Promise<boolean> => (await redis.info('clients')).includes('blocked_clients:8');
    await waitFor(eightWait);
    for (let n = 0; n < 10; n++) await client.run(`quick:${n}`, () => undefined);
    expect(await eightWait()).toBe(true);
    replicas.forEach((replica) => replica.resume());
    expect((await Promise.all(slow)).every(({ held }) => held)).toBe(true);
  });

  test.each<[unknown]>([
    [{ ack: 0 }],
    [{ ack: 1.5 }],
    [{ ack: 'all' }],
    [{}],
    [{ ack: 1, timeout: 0 }],
    [{ ack: 1, within: 5 }],
    [1],
    [true],
    [null],
  ])('is refused before anything is sent: replicas: %j', async (replicas) => {
    const options = { replicas } as LockClientOptions;
    expect(() => clients.make(options)).toThrow(LockArgumentError);
    await expect(clients.make().acquire('order', options)).rejects.toBeInstanceOf(LockArgumentError);
  });
});
