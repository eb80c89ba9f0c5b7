import { describe, expect, test } from '@jest/globals';
import type { LockStore } from 'nestjs-redis-lock';
import { storeContract } from 'nestjs-redis-lock/testing';
import * as grants from './store-contract/broken-grants.js';
import * as leases from './store-contract/broken-leases.js';
import * as locks from './store-contract/broken-locks.js';
import * as queues from './store-contract/broken-queues.js';
import * as shares from './store-contract/broken-shares.js';
import * as successors from './store-contract/broken-successors.js';
import { Store } from './store-contract/store.js';

/** Which check a store fails. */
type Broken = [Type: new () => LockStore, check: RegExp];

const brokenLocks: Broken[] = [
  [locks.EverybodyGetsIn, /gives a free key to the first member/],
  [locks.NobodyGetsIn, /gives a free key to the first member/],
  [locks.TellsTheWrongHolder, /says to the second who holds it/],
  [locks.TellsNoTokenOfTheHolder, /says to the second who holds it/],
  [locks.TellsNoLeaseOfTheHolder, /says to the second who holds it/],
  [locks.SaysFreeOfEverything, /says to the second who holds it/],
  [locks.RefusesARepeatedAcquire, /owner that asks again the same token/],
  [locks.MintsATokenForARepeatedAcquire, /owner that asks again the same token/],
  [locks.CountsARepeatedAcquire, /owner that asks again the same token/],
  [locks.SaysTheWholeLeaseToARepeatedAcquire, /owner that asks again the same token/],
  [locks.SaysGrantedToARepeatedAcquire, /owner that asks again the same token/],
  [locks.AsksNobodyWhetherItIsWanted, /caller that has gone/],
  [locks.ConstantTokens, /mints tokens that grow/],
  [locks.ShrinkingTokens, /mints tokens that grow/],
  [locks.FractionalTokens, /are safe integers/],
  [locks.TokensThatTellNoTime, /tell the time/],
  [locks.MintsReservedTokens, /numbers that are reserved/],
  [locks.ReleasesWithoutOwnerCheck, /release what another holds/],
  [locks.ReleasesWithoutTokenCheck, /old token release/],
  [locks.SaysReleasedToEverybody, /second release finds nothing/],
  [locks.ReleasesNothing, /second release finds nothing/],
  [locks.TrimsKeys, /keeps keys apart/],
  [locks.CutsKeysAtNul, /keeps keys apart/],
];

const brokenLeases: Broken[] = [
  [leases.LeasesNeverEnd, /frees a key when its lease ends/],
  [leases.RenewsNothing, /extends a lease/],
  [leases.RenewsWithoutTokenCheck, /old token release or renew the lock/],
  [leases.RenewsWithoutOwnerCheck, /does not revive a lease/],
  [leases.ShortensLeases, /never shortens/],
  [leases.AddsToLeases, /extends a lease/],
  [leases.RevivesLeases, /does not revive a lease/],
  [leases.MakesLocksByRenewing, /renewals of several keys/],
  [leases.OneAnswerToAllRenewals, /one by one/],
  [leases.IgnoresMinHold, /until minHold is over/],
  [leases.SaysKeptButFrees, /until minHold is over/],
  [leases.KeepsTheHolderThroughMinHold, /until minHold is over/],
  [leases.LengthensLeasesToMinHold, /does not lengthen a lease/],
];

const brokenQueues: Broken[] = [
  [queues.InboxIsOpenAtFirst, /opens an inbox/],
  [queues.InboxNeverCloses, /opens an inbox/],
  [queues.SaysOpenedOnce, /opens an inbox/],
  [queues.SaysListeningToEverybody, /opens an inbox/],
  [queues.SaysListeningToNobody, /opens an inbox/],
  [queues.QueuesNobody, /queues who asks to wait/],
  [queues.QueuesEverybody, /queues who asks to wait/],
  [queues.CountsNobody, /queues who asks to wait/],
  [queues.InspectsWithoutTheQueue, /queues who asks to wait/],
  [queues.ArrivalsFromAnotherCounter, /queues who asks to wait/],
  [queues.CountsARepeatedWaiter, /counts a member that asks again once/],
  [queues.LosesThePlaceOfWhoAsksAgain, /counts a member that asks again once/],
  [queues.SaysRejoinedToWhoAsksAgain, /counts a member that asks again once/],
  [queues.LastComeFirstServed, /in the order of the arrival numbers/],
  [queues.IgnoresArrivals, /lost its place/],
  [queues.NeverSaysRejoined, /lost its place/],
  [queues.KeepsWhoLeaves, /a member that leaves out of the queue/],
  [queues.AnswersTheHeadWithAGrant, /first in the queue that asks/],
  [queues.GivesTheHeadTheLeaseOfAGrant, /first in the queue that asks/],
  [queues.TellsTheHeadTwice, /first in the queue that asks/],
  [queues.LetsCallersJumpTheQueue, /when somebody else asks/],
  [queues.RefusesCallersWhileTheDeadWait, /asks once when nobody in the queue listens/],
];

const brokenGrants: Broken[] = [
  [grants.DropsTheQueueAtARelease, /grants a released key/],
  [grants.TellsNobody, /grants a released key/],
  [grants.TellsTwice, /grants a released key/],
  [grants.TellsEverybody, /grants a released key/],
  [grants.TellsAnotherToken, /grants a released key/],
  [grants.TellsAnotherMember, /grants a released key/],
  [grants.TellsAnotherKey, /grants a released key/],
  [grants.TellsTheLeaseOfAGrant, /grants a released key/],
  [grants.GrantsToEverybody, /passes over members whose client does not listen/],
  [grants.GrantsToEverybody, /frees the key when nobody in the queue listens/],
  [grants.PassesOverTheUncountable, /does not pass over a member that is uncountable/],
  [grants.RequeuesTheUncountable, /does not pass over a member that is uncountable/],
  [grants.HidesThatItIsAGrant, /asks again its grant/],
  [grants.ConfirmsByAsking, /asks again its grant/],
  [grants.RefusesAdoption, /asks again its grant/],
  [grants.TellsTheLeaseOfAGrant, /asks again its grant/],
  [locks.MintsATokenForARepeatedAcquire, /asks again its grant/],
  [grants.KeepsTheGrantOfWhoLeaves, /passes on what was granted/],
  [grants.FreesTheGrantOfWhoLeaves, /passes on what was granted/],
  [grants.GrantsNothingAfterALoss, /when a release comes too late/],
  [grants.ConfirmsNothing, /ordinary lease with the first renewal/],
  [grants.ShortensGrants, /ordinary lease with the first renewal/],
  [grants.VoidsConfirmedGrants, /ordinary lease with the first renewal/],
  [leases.RenewsWithoutTokenCheck, /ordinary lease with the first renewal/],
  [grants.ConfirmsItself, /voids a grant/],
  [grants.VoidsGrantsTooEarly, /voids a grant/],
  [grants.RevivesGrants, /voids a grant/],
  [grants.ReleasesVoidGrants, /voids a grant/],
  [grants.AdoptsVoidGrants, /voids a grant/],
  [grants.KeepsTheDeadInTheQueue, /voids a grant/],
  [grants.DropsEverybodyWithTheDead, /voids a grant/],
  [grants.GrantsNothingAfterALoss, /voids a grant/],
];

const brokenSuccessors: Broken[] = [
  [successors.ForgetsSuccessors, /owner with the answer/],
  [successors.AnswersNoSuccessor, /owner with the answer/],
  [successors.AnswersSuccessorsWithAGrant, /owner with the answer/],
  [successors.GivesSuccessorsTheLeaseOfAGrant, /owner with the answer/],
  [successors.TellsSuccessorsTwice, /owner with the answer/],
  [successors.AnswersASuccessorThatIsNone, /grants a released key/],
  [successors.ForgetsSuccessors, /behind others/],
  [successors.SuccessorsJumpTheQueue, /behind others/],
  [queues.IgnoresArrivals, /successor the place of its arrival number/],
  [successors.QueuesAfterALoss, /of a lock that was lost/],
  [successors.GivesAwayAFreeKeyAfterALoss, /of a lock that was lost/],
  [successors.AnswersTheSuccessorAfterALoss, /of a lock that was lost/],
  [successors.ForgetsSuccessorsAtMinHold, /behind minHold/],
  [successors.LetsSuccessorsInBeforeMinHoldIsOver, /behind minHold/],
  [successors.QueuesSuccessorsBehindTheDead, /nobody before it listens/],
];

const brokenShares: Broken[] = [
  [shares.LetsEverybodyShare, /until all permits are taken/],
  [shares.SharesWithNobody, /until all permits are taken/],
  [shares.HidesHolders, /until all permits are taken/],
  [shares.CountsHoldersForPermits, /until all permits are taken/],
  [shares.SaysFreeOfShares, /until all permits are taken/],
  [shares.SharesAgainWithWhoAsksAgain, /no more permits/],
  [shares.LetsSmallOnesPass, /lets nobody pass by/],
  [shares.EndsAllTogether, /ends each lease by itself/],
  [shares.RenewsAllTogether, /one holder at a time/],
  [shares.RenewsAnyToken, /one holder at a time/],
  [shares.HoldsWhatWasNotConfirmed, /voids a share/],
  [shares.HidesThatAShareWasGranted, /voids a share/],
  [shares.GivesPermitsBackAtOnce, /keeps permits back/],
  [shares.ReducesNothing, /leaves a holder with one permit/],
  [shares.ReducesEverybody, /leaves a holder with one permit/],
  [shares.OneLimitForAll, /judges each member by its own limit/],
  [shares.KeepsSharersWhoLeave, /waited for permits behind a member that leaves/],
  [shares.GrantsSharesToTheDeaf, /wait for permits and do not listen/],
  [shares.MixesKinds, /refuses a plain lock beside shares/],
];

describe('The contract can fail', () => {
  test('every check fails on one of the stores', async () => {
    const patterns = [brokenLocks, brokenLeases, brokenQueues, brokenGrants, brokenSuccessors, brokenShares].flat();
    const names = checksOf(Store).map(({ name }) => name);
    expect(names.filter((name) => !patterns.some(([, check]) => check.test(name)))).toEqual([]);
  });

  test('a store that keeps every rule passes', async () => {
    expect(await failedChecks(Store)).toEqual([]);
  });

  describe.each([
    ['locks', brokenLocks],
    ['leases', brokenLeases],
    ['queues', brokenQueues],
    ['grants', brokenGrants],
    ['successors', brokenSuccessors],
    ['shares', brokenShares],
  ])('%s', (_, broken) => {
    test.concurrent.each(broken.map(([Type, check]) => ({ store: Type.name, Type, check })))(
      '$store: $check',
      async ({ Type, check }) => {
        expect(await failedChecks(Type, check)).toEqual([expect.stringMatching(check)]);
      },
    );
  });

  function checksOf(Type: new () => LockStore): ReturnType<typeof storeContract> {
    return storeContract(async () => {
      const store = new Type();
      return { store, close: async () => store.close() };
    });
  }

  /** The names of the checks that a store fails; they run side by side, each on a store of its own. */
  async function failedChecks(Type: new () => LockStore, which = /./): Promise<string[]> {
    const checks = checksOf(Type).filter(({ name }) => which.test(name));
    const outcomes = await Promise.allSettled(checks.map(async (check) => check.run()));
    return checks.filter((_, index) => outcomes[index]?.status === 'rejected').map(({ name }) => name);
  }
});
