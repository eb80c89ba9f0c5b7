import type { ChildProcess, Said } from '../cases/support/child-process.js';
import type { LockFixture } from '../cases/support/lock-fixture.js';
import type { TcpProxy } from '../support/tcp-proxy.js';
import { waitFor } from '../support/wait-for.js';
import { clock } from './critical-section.mjs';
import { FencedCounter } from './fenced-counter.mjs';
import { checkHistory, type HoldRecord, type Violation } from './history.js';

const CALLERS = 4;

export interface CrowdOptions {
  readonly processes?: number;
  readonly keys?: readonly string[];
  /** The part of the callers that is fair. */
  readonly fair?: number;
  /** The path of another copy of the library. */
  readonly library?: string;
  /** What stands between the processes and Redis, by their number; the others have nothing between. */
  readonly proxies?: readonly TcpProxy[];
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

  /** What it held; of a process that was killed in its section, until then at the longest. */
  records(): HoldRecord[] {
    const ended = this.said('held');
    const known = new Set(ended.map(({ key, token }) => `${key} ${token}`));
    const begun = this.said('began').filter(({ key, token }) => !known.has(`${key} ${token}`));
    const killedAt = this.killedAt ?? Infinity;
    return [...ended, ...begun.map((record) => ({ ...record, until: Math.min(record.until, killedAt) }))];
  }

  private said(event: string): HoldRecord[] {
    const found: Said[] = this.process.events.filter((said) => said.event === event);
    return found as unknown as HoldRecord[];
  }
}

/** Processes that want the same few keys. */
export class Crowd {
  readonly members: Member[];
  private readonly keys: readonly string[];

  constructor(
    private readonly fixture: LockFixture,
    { processes = 4, keys = ['one', 'other'], fair = 0, library, proxies = [] }: CrowdOptions = {},
  ) {
    this.keys = keys;
    const { prefix, server } = fixture;
    const names = Array.from({ length: processes }, (_, number) => `process ${number}`);
    this.members = names.map((name, number) => {
      const url = proxies[number]?.url ?? server.url;
      const config = { name, url, counterUrl: server.url, prefix, keys, callers: CALLERS, fair, library };
      return new Member(fixture.process('../../history/worker.mjs', config), name);
    });
  }

  /** Waits until everybody who lives has held a lock so many more times, and all together so many times. */
  async progress(each: number, together: number, members = this.alive): Promise<void> {
    const before = members.map(({ held }) => held);
    const gains = (): number[] => members.map(({ held }, number) => held - (before[number] ?? 0));
    const isEnough = (): boolean =>
      gains().every((gain) => gain >= each) && gains().reduce((sum, gain) => sum + gain, 0) >= together;
    const hasFailed = (): boolean => members.some((member) => errorsOf(member) !== '');
    await waitFor(() => isEnough() || hasFailed(), { timeoutMs: 30_000 }).catch(() => undefined);
    if (!isEnough())
      throw new Error(`So many holds were gained: ${gains().join(', ')}. ${members.map(errorsOf).join('')}`);
  }

  get alive(): Member[] {
    return this.members.filter(({ killedAt }) => killedAt === undefined);
  }

  /** Ends the processes, and judges what they have said. */
  async finish(): Promise<Outcome> {
    for (const { process } of this.alive) process.tell('finish');
    const ends = await Promise.all(this.alive.map(async ({ process }) => process.exit()));
    const counter = new FencedCounter(this.fixture.server.url);
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
