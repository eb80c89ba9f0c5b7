import fc from 'fast-check';
import { setTimeout as sleep } from 'node:timers/promises';
import { Caller, LONG_WAIT_MS, release, type CallerOptions } from './caller.js';
import type { Ledger } from './ledger.js';
import type { Faults } from './link.js';
import { CLIENTS, KEYS, type World } from './world.js';

/** One command of a run; afterwards all rules are checked. */
class Step implements fc.AsyncCommand<Ledger, World> {
  constructor(
    private readonly text: string,
    private readonly perform: (ledger: Ledger, world: World) => void | Promise<void>,
    private readonly possible: (ledger: Ledger) => boolean = () => true,
  ) {}

  check(ledger: Readonly<Ledger>): boolean {
    return this.possible(ledger as Ledger);
  }

  async run(ledger: Ledger, world: World): Promise<void> {
    ledger.note(this.text);
    await this.perform(ledger, world);
    ledger.check();
  }

  toString(): string {
    return this.text;
  }
}

const client = fc.nat({ max: CLIENTS - 1 });
const key = fc.constantFrom(...KEYS);
const pick = fc.nat({ max: 7 });
const ttl = fc.constantFrom(50, 100, 300, 300, 5_000);

/** Of callers that are alike more often than not, so that locks are handed over within a client. */
const options: fc.Arbitrary<CallerOptions> = fc.record({
  ttl,
  wait: fc.constantFrom(0, 40, 300, LONG_WAIT_MS, LONG_WAIT_MS, LONG_WAIT_MS),
  fair: fc.boolean(),
  renew: fc.constantFrom(true, true, true, false),
  minHold: fc.constantFrom(0, 0, 0, 0, 60),
  maxWaiters: fc.constantFrom(undefined, undefined, undefined, undefined, 0, 1, 3),
  work: fc.constantFrom(undefined, 0, 1, 10, 40),
});

function at<T>(items: Iterable<T>, index: number): T | undefined {
  const all = [...items];
  return all[index % all.length];
}

const someHold = (ledger: Ledger): boolean => ledger.holdings.size > 0;
const someWait = (ledger: Ledger): boolean => ledger.waiting.length > 0;

function call(attempt: 'acquire' | 'tryAcquire', wait?: number): fc.Arbitrary<Step> {
  return fc.tuple(client, key, options, fc.constantFrom(1, 1, 2, 4)).map(([index, name, given, times]) => {
    const wanted = { ...given, wait: wait ?? given.wait };
    return new Step(`${times} × ${attempt}(${index}, ${name}, ${describe(wanted)})`, (ledger, world) => {
      for (let count = 0; count < times; count++) {
        const id = `#${ledger.callers.length} of ${index}`;
        new Caller(ledger, id, world.station(index), name, wanted).start(attempt);
      }
    });
  });
}

function describe(given: CallerOptions): string {
  return JSON.stringify(given).replaceAll('"', '');
}

const nested = fc.tuple(pick, options).map(
  ([index, given]) =>
    new Step(
      `nested(holding ${index}, ${describe(given)})`,
      (ledger) => {
        const around = at(ledger.holdings, index);
        if (!around?.handle.held) return;
        const { station, key: name } = around.caller;
        const id = `#${ledger.callers.length} in ${around.caller.name}`;
        new Caller(ledger, id, station, name, given, around).start('acquire');
      },
      someHold,
    ),
);

const releases = pick.map(
  (index) =>
    new Step(
      `release(${index})`,
      (ledger) => {
        const holding = at(ledger.holdings, index);
        if (holding) void release(ledger, holding);
      },
      someHold,
    ),
);

const aborts = pick.map(
  (index) => new Step(`abort(${index})`, (ledger) => at(ledger.waiting, index)?.abort(), someWait),
);

const extend = fc.tuple(pick, ttl).map(
  ([index, ms]) =>
    new Step(
      `extend(${index}, ${ms})`,
      async (ledger) => {
        const { handle, caller } = at(ledger.holdings, index) ?? {};
        if (!handle?.held) return;
        const left = await handle.extend(ms).catch((error: unknown) => String(error));
        ledger.note(`${caller?.name} extended: ${left}`);
      },
      someHold,
    ),
);

const pause = fc.constantFrom(0, 1, 3, 10, 30, 80).map((ms) => new Step(`pause(${ms})`, () => sleep(ms)));

const close = client.map(
  (index) =>
    new Step(`close(${index})`, async (ledger, world) => {
      const { client: closed } = world.station(index);
      for (const caller of ledger.callers) if (caller.station.client === closed) caller.closedAt ??= performance.now();
      await world.replace(index);
      const held = [...ledger.holdings].filter(({ caller, handle }) => caller.station.client === closed && handle.held);
      if (held.length > 0) ledger.violated(`client ${index} is closed and ${held.length} of its locks are held`);
    }),
);

const flush = fc.constant(
  new Step('flushScripts', async (ledger, world) => {
    ledger.reordered = true;
    await world.flushScripts();
  }),
);

function meddle(
  name: string,
  deed: (world: World, key: string) => Promise<number | undefined | void>,
): fc.Arbitrary<Step> {
  return key.map((of) => new Step(`${name}(${of})`, (ledger, world) => ledger.meddle(of, () => deed(world, of))));
}

const deleteLock = meddle('deleteLock', (world, of) => world.deleteLock(of));
const expire = meddle('expire', (world, of) => world.expire(of));
const deleteQueue = meddle('deleteQueue', (world, of) => world.deleteQueue(of));

const breaks = fc.constantFrom('commands' as const, 'inboxes' as const).map(
  (which) =>
    new Step(`breakConnections(${which})`, async (ledger, world) => {
      const done = world.breakConnections(which);
      if (done) ledger.disturbed = ledger.meddled = true;
      await done;
    }),
);

const kinds: (keyof Faults)[] = [
  'lostAnswers',
  'lostCommands',
  'lostGrants',
  'lateAnswers',
  'lateCommands',
  'lateGrants',
];
const fault = fc
  .tuple(client, fc.constantFrom(...kinds), fc.constantFrom(1, 1, 2, 5), fc.constantFrom(5, 50, 300, 700))
  .map(
    ([index, kind, times, byMs]) =>
      new Step(`fault(${index}, ${times} ${kind}, ${byMs} ms)`, (ledger, world) => {
        ledger.disturbed = ledger.meddled = true;
        Object.assign(world.station(index).link.faults, { [kind]: times, byMs });
      }),
  );

const acquire = call('acquire');
const usual = [acquire, acquire, acquire, acquire, call('tryAcquire', 0), nested, releases, releases, releases, aborts];
const calm = [...usual, pause, pause, pause, extend, flush, close];
const meddling = [deleteLock, deleteLock, expire, deleteQueue];
const rough = [breaks, fault, fault, fault];

type Steps = fc.Arbitrary<Iterable<fc.AsyncCommand<Ledger, World>>>;

/** Runs in peace: nobody meddles and nothing fails. */
export const peace: Steps = stepsOf(calm);

/** Runs in peace, runs with an administrator who meddles, and runs where connections fail as well. */
export const everything: Steps = fc.oneof(
  peace,
  stepsOf([...calm, ...meddling]),
  stepsOf([...calm, ...meddling, ...rough]),
);

function stepsOf(kindsOfSteps: fc.Arbitrary<Step>[]): Steps {
  return fc.commands(kindsOfSteps, { maxCommands: 40, size: 'max' });
}
