import { describe, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { createLockClient, LockArgumentError, type LockClientOptions } from 'nestjs-redis-lock';
import { describeWithRedisServer } from '../support/redis.js';
import { RedlockServers } from './support/servers.js';

const url = (port: number): string => `redis://127.0.0.1:${port}`;
const three = [url(1), url(2), url(3)];

function refusal(options: unknown): Error {
  try {
    createLockClient(options as LockClientOptions);
  } catch (error) {
    if (error instanceof LockArgumentError) return error;
    throw error;
  }
  throw new Error('It was accepted');
}

describe('The option "nodes"', () => {
  test.each([
    ['none', [], 'odd number'],
    ['one', [url(1)], 'odd number'],
    ['two', [url(1), url(2)], 'odd number'],
    ['four', [...three, url(4)], 'odd number'],
    ['a text', url(1), 'odd number'],
    ['null', null, 'odd number'],
    ['the same URL twice', [url(1), url(2), url(1)], 'twice'],
    ['a Cluster', [url(1), url(2), { cluster: [{ host: '127.0.0.1', port: 1 }] }], 'Cluster'],
    ['a node that is none', [url(1), url(2), 'localhost:6379'], 'must be a URL'],
  ])('is refused with %s', (_, nodes, what) => {
    expect(refusal({ nodes }).message).toContain(what);
  });

  test('is refused with the same client twice', () => {
    const client = new Redis({ lazyConnect: true });
    expect(refusal({ nodes: [client, url(1), client] }).message).toContain('twice');
  });

  test.each([{ nodes: three, connection: url(1) }, { nodes: three, store: 'memory' }, {}])(
    'stands alone: %j',
    (options) => {
      expect(refusal(options).message).toContain('exactly one of "connection", "nodes" and "store"');
    },
  );

  test.each([{ nodeTimeout: 0 }, { nodeTimeout: 'soon' }, { fencing: 1 }])(
    'has options that are checked: %j',
    (more) => {
      expect(refusal({ nodes: three, ...more }).message).toContain(`"${Object.keys(more)[0]}"`);
    },
  );

  test.each([
    [{ fair: true }, '"fair" is true'],
    [{ replicas: { ack: 1 } }, '"replicas" is {'],
  ])('goes without %j', (more, what) => {
    expect(refusal({ nodes: three, ...more }).message).toContain(what);
  });
});

describeWithRedisServer('A client with nodes', () => {
  const servers = RedlockServers.use(3);

  test('refuses a call that wants what is not there, and no other', async () => {
    const client = await servers.client();
    await expect(client.acquire('k', { fair: true })).rejects.toThrow('"fair"');
    await expect(client.acquire('k', { replicas: { ack: 1 } })).rejects.toThrow('"replicas"');
    const lock = await client.acquire('k', { fair: false, replicas: false });
    expect(await lock.release()).toBe('released');
  });

  test('says on how many nodes a lock is', async () => {
    const client = await servers.client();
    await using lock = await client.acquire('k');
    expect(lock.nodes).toBeGreaterThanOrEqual(2);
  });
});
