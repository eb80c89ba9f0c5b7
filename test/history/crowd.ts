import type { LockClientOptions } from 'nestjs-redis-lock';
import { fileURLToPath } from 'node:url';
import { clock, type HoldRecord } from '../../scripts/lib/history/critical-section.mjs';
import { FencedCounter } from '../../scripts/lib/history/fenced-counter.mjs';
import { checkHistory, holdsOf, type Violation } from '../../scripts/lib/history/history.mjs';
import { ChildProcess } from '../cases/support/child-process.js';
import { waitFor } from '../support/wait-for.js';

const WORKER = fileURLToPath(new URL('../../scripts/lib/history/worker.mjs', import.meta.url));

export interface CrowdOptions {
  /** Where the locks are for a process, by its number. */
  readonly servers: (process: number) => Pick<LockClientOptions, 'connection' | 'nodes'>;
  readonly prefix: string;
  /** The Redis of the counters that the tokens guard. */
  readonly counterUrl: string;
  readonly processes?: number;
  /** How many callers a process has. */
  readonly callers?: number;
  readonly keys?: readonly string[];
  /** The leases that callers ask for, in ms. */
  readonly ttls?: readonly number[];
  /** The part of the callers that is fair. */
  readonly fair?: number;
  /** The kind of all locks; default: plain ones. */
  readonly kind?: 'plain' | 'semaphore' | 'read/write';
  /** The path of another copy of the library. */
  readonly library?: string;
}

/** What became of a crowd. */
export interface Outcome {
  readonly violations: readonly Violation[];
  /** How the processes ended that did not end by themselves. */
  readonly failed: readonly unknown[];
  readonly errors: string;
}

/** One process of a crowd. */
export class Member {
  killedAt: number | undefined;

  constructor(
    readonly process: ChildProcess,
    readonly name: string,
  ) {}

  /** How many holds it has finished. */
  get held(): number {
    return this.process.events.filter(({ event }) => event === 'held').length;
  }

  kill(): void {
    this.process.kill('SIGKILL');
    this.killedAt = clock();
  }

  /** What it held. */
  records(): HoldRecord[] {
    return holdsOf(this.process.events, this.killedAt);
  }
}

/** Processes that want the same few keys. */
export class Crowd {
  readonly members: Member[];
  private readonly keys: readonly string[];
  private readonly counterUrl: string;

  /** `start` makes the processes; default: they are to be ended by {@link kill}. */
  constructor(
    { servers, processes = 4, ...options }: CrowdOptions,
    start = (script: string, config: object): ChildProcess => ChildProcess.start(script, config),
  ) {
    const config = { callers: 4, keys: ['one', 'other'], ...options };
    this.keys = config.keys;
    this.counterUrl = config.counterUrl;
    const names = Array.from({ length: processes }, (_, number) => `process ${number}`);
    this.members = names.map(
      (name, number) => new Member(start(WORKER, { ...config, name, servers: servers(number) }), name),
    );
    for (const { process } of this.members) process.yieldToOthers();
  }

  /**
   * Waits until everybody who lives has held a lock so many more times, and all together so many times.
   * @throws when that takes longer than `timeoutMs`.
   */
  async progress(each: number, together: number, members = this.alive, timeoutMs = 30_000): Promise<void> {
    const before = members.map(({ held }) => held);
    const gains = (): number[] => members.map(({ held }, number) => held - (before[number] ?? 0));
    const isEnough = (): boolean =>
      gains().every((gain) => gain >= each) && gains().reduce((sum, gain) => sum + gain, 0) >= together;
    const hasFailed = (): boolean => members.some((member) => errorsOf(member) !== '');
    await waitFor(() => isEnough() || hasFailed(), { timeoutMs }).catch(() => undefined);
    if (!isEnough())
      throw new Error(`So many holds were gained: ${gains().join(', ')}. ${members.map(errorsOf).join('')}`);
  }

  get alive(): Member[] {
    return this.members.filter(({ killedAt }) => killedAt === undefined);
  }

  /** The longest time in ms in which nobody began to hold a lock. */
  longestGap(): number {
    const begun = this.members
      .flatMap((member) => member.records())
      .map(({ from }) => from)
      .sort((one, other) => one - other);
    return Math.max(...begun.slice(1).map((from, index) => from - (begun[index] ?? from)));
  }

  /** Ends whoever lives. */
  kill(): void {
    for (const member of this.alive) member.kill();
  }

  /** Ends the processes, and judges what they have said. */
  async finish(): Promise<Outcome> {
    for (const { process } of this.alive) process.tell('finish');
    const ends = await Promise.all(this.alive.map(async ({ process }) => process.exit()));
    const counter = new FencedCounter(this.counterUrl);
    const values = await Promise.all(this.keys.map(async (key) => [key, await counter.value(key)] as const));
    counter.close();
    const records = this.members.flatMap((member) => member.records());
    const violations = checkHistory(records, Object.fromEntries(values));
    const failed = ends.filter(({ code }) => code !== 0);
    return { violations, failed, errors: this.members.map(errorsOf).join('') };
  }
}

function errorsOf({ process }: Member): string {
  return process.errors;
}
