import type { LockStore } from '../stores/lock-store.js';
import { Bench } from './contract/bench.js';
import { grantChecks } from './contract/grant-checks.js';
import { leaseChecks } from './contract/lease-checks.js';
import { lockChecks } from './contract/lock-checks.js';
import { queueChecks } from './contract/queue-checks.js';
import { shareChecks } from './contract/share-checks.js';
import { successorChecks } from './contract/successor-checks.js';

/** What a check works on. */
export interface StoreUnderTest {
  readonly store: LockStore;
  /** Ends what was opened for the check. */
  close(): Promise<void>;
}

/** One check of the contract: give `name` and `run` to the test runner. */
export interface StoreCheck {
  readonly name: string;
  readonly run: () => Promise<void>;
}

/**
 * The contract of a {@link LockStore}, as checks for any test runner. Each opens a store of its own; some take four
 * seconds.
 *
 * A store need not have a queue: where the inbox says, before or after it was opened, that it is not `usable`, the
 * checks of the queue, of grants, of successors and of shares pass without having asked anything. Nor need it have shares:
 * where it has no `holders`, or `lacks` them, those of shares do.
 * @example
 * ```ts
 * for (const { name, run } of storeContract(async () => ({ store, close: () => store.close() }))) it(name, run);
 * ```
 */
export function storeContract(open: () => Promise<StoreUnderTest>): StoreCheck[] {
  const check = (name: string, body: (bench: Bench) => Promise<void>): StoreCheck => ({
    name,
    run: async () => {
      const opened = await open();
      const bench = new Bench(opened.store);
      try {
        await body(bench);
      } finally {
        await bench.close();
        await opened.close();
      }
    },
  });
  const simple = { ...lockChecks, ...leaseChecks };
  const withInbox = { ...queueChecks, ...grantChecks, ...successorChecks };
  return [
    ...Object.entries(simple).map(([name, body]) => check(name, body)),
    ...Object.entries({ ...withInbox, ...shareChecks }).map(([name, body]) =>
      check(name, async (bench) => {
        const client = bench.closedClient();
        if (name in shareChecks && !hasShares(bench.store)) return;
        if (await client.open()) await body(bench, client);
      }),
    ),
  ];
}

function hasShares(store: LockStore): boolean {
  return 'holders' in store && !store.lacks?.includes('shares');
}
