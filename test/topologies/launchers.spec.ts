import { existsSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import calculateSlot from 'cluster-key-slot';
import { Cluster, Redis } from 'ioredis';
import { findValkeyServer, startRedis, type RedisServer } from '../../scripts/lib/servers.mjs';
import { startCluster, startNodes, startSentinelGroup } from '../../scripts/lib/topologies/index.mjs';
import { describeWithFaketime, describeWithRedisServer, describeWithValkey, newRedis } from '../support/redis.js';
import { waitFor } from '../support/wait-for.js';

interface Process {
  pid: number | undefined;
  directory: string;
}

function snapshot(servers: Process[]): { pid: number; directory: string }[] {
  return servers.map(({ pid, directory }) => ({ pid: pid ?? NaN, directory }));
}

function expectGone(servers: { pid: number; directory: string }[]): void {
  for (const { pid, directory } of servers) {
    expect(() => process.kill(pid, 0)).toThrow('ESRCH');
    expect(existsSync(directory)).toBe(false);
  }
}

async function ask<T>(server: RedisServer, command: (redis: Redis) => Promise<T>): Promise<T> {
  const redis = newRedis(server.url);
  try {
    return await command(redis);
  } finally {
    redis.disconnect();
  }
}

function info(server: RedisServer, section: string): Promise<string> {
  return ask(server, (redis) => redis.info(section));
}

describeWithRedisServer('startNodes', () => {
  test('starts servers that know nothing of each other', async () => {
    const nodes = await startNodes(3, { args: ['--maxclients', '50'] });
    const before = snapshot(nodes);
    try {
      expect(new Set(nodes.map(({ port }) => port)).size).toBe(3);
      for (const node of nodes) {
        expect(await info(node, 'replication')).toMatch(/role:master\r\nconnected_slaves:0/);
        expect(await ask(node, (redis) => redis.config('GET', 'maxclients'))).toEqual(['maxclients', '50']);
      }
    } finally {
      await Promise.all(nodes.map((node) => node.stop()));
    }
    expectGone(before);
  });

  test('leaves nothing when they do not come up', async () => {
    await expect(startNodes(2, { args: ['--no-such-option', 'x'] })).rejects.toThrow('no-such-option');
  });
});

describeWithRedisServer('startSentinelGroup', () => {
  test('replaces a master that is killed', async () => {
    await using group = await startSentinelGroup();
    const { master, nodes, connection } = group;
    expect(await info(master, 'replication')).toContain('connected_slaves:2');
    expect(await group.currentMaster()).toBe(master);

    const redis = new Redis({ ...connection, disconnectTimeout: 50, sentinelRetryStrategy: () => 50 });
    redis.on('error', () => {});
    await redis.set('key', 'value');
    expect(await redis.wait(2, 0)).toBe(2);

    await master.kill();
    const next = await waitFor(async () => {
      const current = await group.currentMaster();
      return current !== master && current;
    });
    expect(nodes).toContain(next);
    await waitFor(async () => (await info(next, 'replication')).includes('role:master'));
    expect(await redis.get('key')).toBe('value');
    redis.disconnect();
  });

  test('leaves nothing after stop', async () => {
    const group = await startSentinelGroup({ replicas: 1, sentinels: 1 });
    const before = snapshot([...group.nodes, ...group.sentinels]);
    expect(before).toHaveLength(3);
    await group.replicas[0]?.kill();
    await group.stop();
    await group.stop();
    expectGone(before);
  });
});

function clusterTests(program?: string): void {
  test('all slots are served, a slot can be moved, a replica takes over, and stop leaves nothing', async () => {
    const cluster = await startCluster({ program });
    const before = snapshot(cluster.nodes);
    const client = new Cluster(cluster.connection);
    try {
      const [first, second] = cluster.nodes as [RedisServer, RedisServer];
      const state = await ask(first, (redis) => redis.cluster('INFO'));
      expect(state).toMatch(/cluster_state:ok\r\ncluster_slots_assigned:16384\r\ncluster_slots_ok:16384/);
      expect(state).toMatch(/cluster_known_nodes:6\r\ncluster_size:3/);
      expect(await cluster.masterOf(0)).toBe(first);

      const key = '{1}key'; // in the second third
      const slot = calculateSlot(key);
      expect(await cluster.masterOf(slot)).toBe(second);
      await client.set(key, 'value');
      await cluster.moveSlot(slot, first);
      expect(await cluster.masterOf(slot)).toBe(first);
      expect(await ask(first, (redis) => redis.get(key))).toBe('value');
      expect(await client.get(key)).toBe('value');

      await client.set(key, 'other');
      const replica = await cluster.replicaOf(first);
      await cluster.failover(replica);
      expect(await cluster.masterOf(slot)).toBe(replica);
      expect(await cluster.replicaOf(replica)).toBe(first);
      expect(await ask(replica, (redis) => redis.get(key))).toBe('other');
    } finally {
      client.disconnect();
      await cluster.stop();
    }
    expectGone(before);
  });
}

describeWithRedisServer('startCluster', () => {
  clusterTests();

  test('in the middle of a move: ASK for what is not there, and the rest where it was', async () => {
    await using cluster = await startCluster({ masters: 2, replicasPerMaster: 0 });
    const [first, second] = cluster.nodes as [RedisServer, RedisServer];
    const [old, missing] = ['{a}old', '{a}missing'];
    const slot = calculateSlot(old);
    const from = await cluster.masterOf(slot);
    const to = from === first ? second : first;
    await ask(from, (redis) => redis.set(old, 'value'));

    await cluster.beginMove(slot, to);
    expect(await ask(from, (redis) => redis.get(old))).toBe('value');
    await expect(ask(from, (redis) => redis.get(missing))).rejects.toThrow(`ASK ${slot} 127.0.0.1:${to.port}`);
    expect(await cluster.masterOf(slot)).toBe(from);

    await cluster.finishMove(slot, to);
    await expect(ask(from, (redis) => redis.get(old))).rejects.toThrow(`MOVED ${slot} 127.0.0.1:${to.port}`);
    expect(await ask(to, (redis) => redis.get(old))).toBe('value');
  });

  test('a master that is killed is replaced by its replica', async () => {
    await using cluster = await startCluster();
    const master = await cluster.masterOf(0);
    const replica = await cluster.replicaOf(master);
    await master.kill();
    expect(await cluster.replicaOf(master)).toBe(replica);
    await waitFor(async () => (await cluster.masterOf(0).catch(() => undefined)) === replica, { timeoutMs: 30_000 });
  });
});

describeWithValkey('startCluster with Valkey', () => clusterTests(findValkeyServer()));

describeWithValkey('startRedis with Valkey', () => {
  test('starts another program', async () => {
    await using server = await startRedis({ program: findValkeyServer() });
    expect(await info(server, 'server')).toContain('server_name:valkey');
  });
});

describeWithFaketime('startRedis with a clock that is off', () => {
  test.each([
    ['+30s', 30],
    ['-1h', -3600],
  ])('by %s', async (clockOffset, seconds) => {
    await using server = await startRedis({ clockOffset });
    const [now] = await ask(server, (redis) => redis.time());
    expect(Math.abs(Number(now) - seconds - Date.now() / 1000)).toBeLessThan(5);
  });

  test('only its wall clock: what is to live for a while lives that long, also after a restart', async () => {
    await using server = await startRedis({ clockOffset: '+30s' });
    const { pid } = server;
    expect(() => process.kill(pid ?? NaN, 0)).not.toThrow();
    await server.restart();
    await ask(server, async (redis) => {
      await redis.set('key', 'value', 'PX', 60_000);
      expect(await redis.pttl('key')).toBeGreaterThan(50_000);
      expect(Number((await redis.time())[0]) - Date.now() / 1000).toBeGreaterThan(25);
    });
  });
});
