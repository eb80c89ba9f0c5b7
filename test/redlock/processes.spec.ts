import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import type { Redis } from 'ioredis';
import { startRedis, type RedisServer } from '../../scripts/lib/servers.mjs';
import { Crowd } from '../history/crowd.js';
import { describeWithFaketime, describeWithRedisServer, newRedis, uniquePrefix } from '../support/redis.js';
import { waitFor } from '../support/wait-for.js';

const PROCESSES = 20;
const LEASES = [500, 900];
const FLAWLESS = { violations: [], failed: [], errors: '', neverLocked: false, left: [] };
/** What a node had granted is over then. */
const OVER = 2 * Math.max(...LEASES);

/** Servers that know nothing of each other, and processes that contend for locks on all of them. */
class Trial {
  private constructor(
    private readonly nodes: readonly RedisServer[],
    private readonly counters: RedisServer,
    private readonly prefix: string,
    private readonly crowd: Crowd,
  ) {}

  /** @param clockOffset of the last node */
  static async start(count: number, clockOffset?: string): Promise<Trial> {
    const right = Array.from({ length: clockOffset ? count : count + 1 }, async () => startRedis());
    const wrong = clockOffset ? [startRedis({ clockOffset })] : [];
    const [counters, ...nodes] = (await Promise.all([...right, ...wrong])) as [RedisServer, ...RedisServer[]];
    const servers = { nodes: nodes.map(({ url }) => url) };
    const prefix = uniquePrefix();
    const common = { servers: () => servers, prefix, counterUrl: counters.url };
    const crowd = new Crowd({ ...common, processes: PROCESSES, callers: 2, ttls: LEASES });
    return new Trial(nodes, counters, prefix, crowd);
  }

  /** Every process holds a lock twice more. */
  async goesOn(): Promise<void> {
    await this.crowd.progress(2, 100, this.crowd.alive, 120_000);
  }

  /** Kills nodes, which come back empty. */
  async replace(...numbers: number[]): Promise<void> {
    const replaced = numbers.flatMap((number) => this.nodes[number] ?? []);
    await Promise.all(replaced.map(async (node) => node.kill()));
    await Promise.all([this.goesOn(), pause(OVER)]);
    await Promise.all(replaced.map(async (node) => node.start()));
    await Promise.all(replaced.map(async (node) => untilConnected(node)));
    await this.goesOn();
  }

  /** A node answers nothing for longer than every lease, and then all that it was asked meanwhile. */
  async hang(number: number): Promise<void> {
    this.nodes[number]?.pause();
    await Promise.all([this.goesOn(), pause(OVER)]);
    this.nodes[number]?.resume();
    await this.goesOn();
  }

  /** Ends the processes, and tells what became of them. */
  async finish(): Promise<object> {
    const outcome = await this.crowd.finish();
    await waitFor(async () => (await this.left()).length === 0).catch(() => undefined);
    return { ...outcome, neverLocked: this.crowd.longestGap() > 30_000, left: await this.left() };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.crowd.kill();
    await Promise.all([this.counters, ...this.nodes].map(async (server) => server.stop()));
  }

  /** What is on the nodes beside the counters. */
  private async left(): Promise<string[]> {
    const names = this.nodes.map(async (node) => ask(node, async (redis) => redis.keys(`${this.prefix}*`)));
    return (await Promise.all(names)).flat().filter((name) => !name.endsWith(':fence'));
  }
}

async function ask<T>({ url }: RedisServer, question: (redis: Redis) => Promise<T>): Promise<T> {
  const redis = newRedis(url);
  return question(redis).finally(() => redis.disconnect());
}

/** Until every process is connected to a node. */
async function untilConnected(node: RedisServer): Promise<void> {
  await ask(node, async (redis) =>
    waitFor(async () => {
      const [, clients] = /connected_clients:(\d+)/.exec(await redis.info('clients')) ?? [];
      return Number(clients) > PROCESSES;
    }),
  );
}

describeWithRedisServer('Twenty processes and Redlock', () => {
  test('of five: two die and come back empty, then one hangs → nobody overlaps, tokens grow, all go on', async () => {
    await using trial = await Trial.start(5);
    await trial.goesOn();
    await trial.replace(0, 1);
    await trial.hang(2);
    expect(await trial.finish()).toEqual(FLAWLESS);
  }, 600_000);

  test('of three: one dies and comes back empty, then another hangs → nobody overlaps, tokens grow, all go on', async () => {
    await using trial = await Trial.start(3);
    await trial.goesOn();
    await trial.replace(0);
    await trial.hang(1);
    expect(await trial.finish()).toEqual(FLAWLESS);
  }, 600_000);
});

describeWithFaketime('Twenty processes and Redlock with a node whose clock is off', () => {
  test('of five: it also dies with another one, and a third one hangs → nobody overlaps, tokens grow, all go on', async () => {
    await using trial = await Trial.start(5, '+30s');
    await trial.goesOn();
    await trial.hang(2);
    await trial.replace(3, 4);
    expect(await trial.finish()).toEqual(FLAWLESS);
  }, 600_000);

  test('of three: a right one dies, so that it is needed → nobody overlaps, tokens grow, all go on', async () => {
    await using trial = await Trial.start(3, '+30s');
    await trial.goesOn();
    await trial.replace(0);
    await trial.hang(2);
    expect(await trial.finish()).toEqual(FLAWLESS);
  }, 600_000);
});
