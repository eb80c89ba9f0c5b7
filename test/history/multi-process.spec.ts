import { expect, test } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { LockFixture } from '../cases/support/lock-fixture.js';
import { describeWithRedisServer } from '../support/redis.js';
import type { TcpProxy } from '../support/tcp-proxy.js';
import { Crowd, type CrowdOptions, type Member, type Outcome } from './crowd.js';
import { COUNTER_CLIENT } from '../../scripts/lib/history/fenced-counter.mjs';

/** No violation, and every process that was not killed has ended by itself, without an error. */
const FLAWLESS: Outcome = { violations: [], failed: [], errors: '' };

interface Disturbed extends Partial<CrowdOptions> {
  /** What stands between the processes and Redis, by their number; the others have nothing between. */
  readonly proxies?: readonly TcpProxy[];
}

describeWithRedisServer('The history of several processes has no violation', () => {
  const fixture = LockFixture.use();

  /** A crowd that has come to work, and gets on with it after it was disturbed. */
  async function run(
    { proxies = [], ...options }: Disturbed,
    disturb: (crowd: Crowd) => Promise<void>,
  ): Promise<Outcome> {
    const { url } = fixture.server;
    const servers = (process: number): { connection: string } => ({ connection: proxies[process]?.url ?? url });
    const { prefix } = fixture;
    const crowd = new Crowd({ servers, prefix, counterUrl: url, ...options }, (script, config) =>
      fixture.process(script, config),
    );
    await crowd.progress(3, 50);
    await disturb(crowd);
    await crowd.progress(3, 50);
    const outcome = await crowd.finish();
    await fixture.expectNothingLeft();
    return outcome;
  }

  async function breakConnections(times: number): Promise<void> {
    for (let round = 0; round < times; round++) {
      const clients = String(await fixture.redis.client('LIST'))
        .trim()
        .split('\n');
      const theirs = clients.filter(
        (client) => /cmd=(evalsha|subscribe|publish)/.test(client) && !client.includes(` name=${COUNTER_CLIENT} `),
      );
      const [, id] = /^id=(\d+)/.exec(theirs[Math.floor(Math.random() * theirs.length)] ?? '') ?? [];
      if (id) await fixture.redis.client('KILL', 'ID', id);
      await sleep(60);
    }
  }

  const anyOf = (members: readonly Member[]): Member => members[Math.floor(Math.random() * members.length)] as Member;

  test('undisturbed', async () => {
    const outcome = await run({}, async (crowd) => crowd.progress(30, 300));
    expect(outcome).toEqual(FLAWLESS);
  });

  test.each(['semaphore', 'read/write'] as const)(
    '%s locks: processes that are stopped and killed, connections that break, late answers',
    async (kind) => {
      const proxy = await fixture.proxy();
      const outcome = await run({ kind, proxies: [proxy] }, async (crowd) => {
        await crowd.progress(30, 300);
        for (const ms of [700, 3_300]) {
          const { process } = anyOf(crowd.members);
          process.kill('SIGSTOP');
          await sleep(ms);
          process.kill('SIGCONT');
          await crowd.progress(1, 10);
        }
        proxy.delay('answers', () => Math.random() * (Math.random() < 0.95 ? 20 : 2_500));
        await breakConnections(10);
        await crowd.progress(1, 50);
        proxy.delay('answers', () => 0);
        anyOf(crowd.members).kill();
        await crowd.progress(5, 50);
      });
      expect(outcome).toEqual(FLAWLESS);
    },
    120_000,
  );

  test('one key, and everybody is fair', async () => {
    const outcome = await run({ keys: ['one'], fair: 1 }, async (crowd) => crowd.progress(15, 150));
    expect(outcome).toEqual(FLAWLESS);
  });

  test('answers and messages that are late, beyond the lease and the confirmation of a grant', async () => {
    const proxies = await Promise.all(Array.from({ length: 3 }, async () => fixture.proxy()));
    const outcome = await run({ proxies, fair: 0.3 }, async (crowd) => {
      const mostly = (often: number, seldom: number) => (): number =>
        Math.random() * (Math.random() < 0.95 ? often : seldom);
      proxies[0]?.delay('answers', mostly(20, 2_500));
      proxies[1]?.delay('messages', mostly(20, 5_000));
      proxies[2]?.delay('answers', mostly(5, 1_500));
      proxies[2]?.delay('messages', mostly(50, 4_000));
      proxies[2]?.delay('commands', mostly(5, 1_000));
      await sleep(4_000);
      await crowd.progress(2, 50);
      for (const proxy of proxies) {
        for (const traffic of ['answers', 'messages', 'commands'] as const) proxy?.delay(traffic, () => 0);
      }
    });
    expect(outcome).toEqual(FLAWLESS);
  });

  test('processes that are stopped for a while', async () => {
    const outcome = await run({ fair: 0.2 }, async (crowd) => {
      for (const ms of [100, 700, 3_300, 1_000]) {
        const { process } = anyOf(crowd.members);
        process.kill('SIGSTOP');
        await sleep(ms);
        process.kill('SIGCONT');
        await crowd.progress(1, 10);
      }
    });
    expect(outcome).toEqual(FLAWLESS);
  });

  test('a process that is killed', async () => {
    const outcome = await run({ fair: 0.2 }, async (crowd) => {
      anyOf(crowd.members).kill();
      await crowd.progress(5, 50);
    });
    expect(outcome).toEqual(FLAWLESS);
  });

  test('connections that break', async () => {
    const outcome = await run({ fair: 0.2 }, async (crowd) => {
      await breakConnections(25);
      await crowd.progress(3, 50);
    });
    expect(outcome).toEqual(FLAWLESS);
  });
});
