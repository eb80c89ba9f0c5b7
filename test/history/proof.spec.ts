import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { LockFixture } from '../cases/support/lock-fixture.js';
import { describeWithRedisServer } from '../support/redis.js';
import { checkHistory, type Violation } from '../../scripts/lib/history/history.mjs';
import { PatchedCopy, type Patch } from './patched-copy.js';
import * as scenarios from './scenarios.js';
import { Stage } from './stage.js';

interface Proof {
  readonly rule: string;
  readonly patch: Patch;
  readonly scenario: scenarios.Scenario;
  readonly kind?: Violation['kind'];
}

const proofs: Proof[] = [
  {
    rule: 'a release ends only the hold of its owner',
    patch: {
      file: 'stores/redis/scripts/release.js',
      find: "if owner ~= member or (ARGV[2] ~= '' and ARGV[2] ~= token) then",
      put: 'if not field then',
    },
    scenario: scenarios.lateReleaseBeforeAWaiter,
  },
  {
    rule: 'a release ends only the hold of its owner, also when nobody waits',
    patch: {
      file: 'stores/redis/scripts/release.js',
      find: "held, voidAt = unpack(redis.call('HMGET', KEYS[1], member .. '/' .. ARGV[2], '${UNTIL_FIELD}'))",
      put: "held = redis.call('EXISTS', KEYS[1]) == 1",
    },
    scenario: scenarios.lateRelease,
  },
  {
    rule: 'a hold ends with its lease, by the clock of the holder',
    patch: {
      file: 'lock/lease.js',
      find: 'this.leaseMs - driftOf(this.leaseMs) - elapsedSince(this.from)',
      put: 'this.leaseMs - driftOf(this.leaseMs)',
    },
    scenario: scenarios.cutOffHolder,
  },
  {
    rule: 'a lease counts from before its command was sent',
    patch: {
      file: 'lock/contender.js',
      find: 'new Lease(this.key, member, token, sentAt, remainingMs, !granted, this.share)',
      put: 'new Lease(this.key, member, token, now(), remainingMs, !granted, this.share)',
    },
    scenario: scenarios.lateAnswer,
  },
  {
    rule: 'every acquisition has a fresh member',
    patch: {
      file: 'lock/lock-engine.js',
      find: '`${this.instance}#${++this.members}`',
      put: '`${this.instance}#1`',
    },
    scenario: scenarios.repeatedLeave,
  },
  {
    rule: 'a grant counts from the newest question that was answered not yours',
    patch: {
      file: 'lock/contender.js',
      find: 'Lease.ofGrant(this.key, member, token, lastHeld?.sentAt ?? now(), this.share)',
      put: 'Lease.ofGrant(this.key, member, token, now(), this.share)',
    },
    scenario: scenarios.lateGrant,
  },
  {
    rule: 'a grant is stale if its token is not above all that any answer showed',
    patch: {
      file: 'lock/contender.js',
      find: "if (this.state !== 'waiting' || token <= this.highest)",
      put: "if (this.state !== 'waiting')",
    },
    scenario: scenarios.lateGrantAfterAnswer,
  },
  {
    rule: 'an answer that comes behind a grant does not give it back',
    patch: {
      file: 'lock/contender.js',
      find: "this.state = 'confirming';\n        this.lease = lease;",
      put: "this.state = 'confirming';",
    },
    scenario: scenarios.answerBehindGrant,
  },
  {
    rule: 'the first renewal confirms a grant',
    patch: {
      file: 'stores/redis/scripts/renew.js',
      find: "redis.call('HDEL', KEYS[1], '${UNTIL_FIELD}')",
      put: '',
    },
    scenario: scenarios.confirmedGrant,
  },
  {
    rule: 'the tokens of hand-overs are reserved with the first one',
    patch: {
      file: 'stores/redis/scripts/shared.js',
      find: 'text(highest + 1 + reserved)',
      put: 'text(highest + 1)',
    },
    scenario: scenarios.handOver,
    kind: 'order',
  },
];

describeWithRedisServer('The history checker finds what a rule prevents', () => {
  const fixture = LockFixture.use();
  let intact: PatchedCopy;

  beforeAll(async () => (intact = await PatchedCopy.make()));

  afterAll(async () => intact.remove());

  /** Plays a scenario with a copy of the library, and judges what was recorded. */
  async function play(scenario: scenarios.Scenario, copy: PatchedCopy): Promise<Violation[]> {
    const stage = new Stage(fixture, copy);
    try {
      await scenario(stage);
    } finally {
      await stage.finish();
    }
    return checkHistory(stage.records);
  }

  test.each(proofs)('$rule', async ({ scenario, patch, kind = 'overlap' }) => {
    const patched = await PatchedCopy.make([patch]);
    const [withRule, without] = await Promise.allSettled([play(scenario, intact), play(scenario, patched)]);
    await patched.remove();
    expect(withRule).toEqual({ status: 'fulfilled', value: [] });
    expect(without).toMatchObject({
      status: 'fulfilled',
      value: expect.arrayContaining([expect.objectContaining({ kind })]),
    });
  });

  test('a patch that does not fit any more is an error', async () => {
    const patch = { file: 'lock/lease.js', find: 'no such text', put: '' };
    await expect(PatchedCopy.make([patch])).rejects.toThrow('has 0 times what is to be taken out: no such text');
    await expect(PatchedCopy.make([{ ...patch, find: 'lease' }])).rejects.toThrow(/has \d+ times/);
  });
});
