import { setTimeout as sleep } from 'node:timers/promises';
import {
  LockUnavailableError,
  type AcquireCommand,
  type AcquireReply,
  type Grant,
  type GrantInbox,
  type GrantListener,
  type LockState,
  type LockStore,
  type ReleaseCommand,
  type ReleaseReply,
  type RenewCommand,
  type RenewReply,
} from 'nestjs-redis-lock';

/** What can go wrong between one client and its store, each for the next few commands or messages. */
export interface Faults {
  /** Carried out, and the answer is an error. */
  lostAnswers: number;
  /** Not carried out, and the answer is an error that does not say so. */
  lostCommands: number;
  /** Grants that never arrive. */
  lostGrants: number;
  /** Answers that come late. */
  lateAnswers: number;
  /** Commands that reach the store late, so that others overtake them. */
  lateCommands: number;
  /** Grants that come late. */
  lateGrants: number;
  /** How late, in ms. */
  byMs: number;
}

const NO_FAULTS: Faults = {
  lostAnswers: 0,
  lostCommands: 0,
  lostGrants: 0,
  lateAnswers: 0,
  lateCommands: 0,
  lateGrants: 0,
  byMs: 0,
};

/** What is between a client and its store: it can be at fault, and it knows what was asked last. */
export class Link implements LockStore {
  readonly faults: Faults = { ...NO_FAULTS };
  /** The newest acquire, with its answer. */
  lastAcquire: Promise<AcquireReply> | undefined;

  constructor(private readonly inner: LockStore) {}

  /** Nothing goes wrong from now on. */
  repair(): void {
    Object.assign(this.faults, NO_FAULTS);
  }

  acquire(command: AcquireCommand): Promise<AcquireReply> {
    const called = performance.now();
    const { key, withinMs } = command;
    this.lastAcquire = this.pass(key, async () => {
      const left = withinMs - (performance.now() - called);
      if (left <= 0) throw new LockUnavailableError(key, 'it came too late', { mayHaveRun: false, late: true });
      return this.inner.acquire({ ...command, withinMs: left });
    });
    return this.lastAcquire;
  }

  release(command: ReleaseCommand): Promise<ReleaseReply> {
    return this.pass(command.key, async () => this.inner.release(command));
  }

  renew(commands: readonly RenewCommand[]): Promise<RenewReply>[] {
    return commands.map(async (command) =>
      this.pass(command.key, async () => {
        const [reply] = this.inner.renew([command]);
        return reply ?? { status: 'gone' };
      }),
    );
  }

  inspect(key: string): Promise<LockState> {
    return this.inner.inspect(key);
  }

  grants(instance: string, listener: GrantListener): GrantInbox {
    return this.inner.grants(instance, {
      granted: (grant) => this.tell(grant, listener),
      opened: () => listener.opened(),
      refused: () => listener.refused(),
    });
  }

  /** The store may be shared with other clients. */
  async close(): Promise<void> {}

  private tell(grant: Grant, listener: GrantListener): void {
    if (this.take('lostGrants')) return;
    if (this.take('lateGrants')) setTimeout(() => listener.granted(grant), this.faults.byMs);
    else listener.granted(grant);
  }

  private async pass<Reply>(key: string, carryOut: () => Promise<Reply>): Promise<Reply> {
    const { byMs } = this.faults;
    if (this.take('lostCommands')) throw new LockUnavailableError(key, 'the command was lost');
    const isLost = this.take('lostAnswers');
    const isLate = this.take('lateAnswers');
    if (this.take('lateCommands')) await sleep(byMs);
    const reply = await carryOut();
    if (isLost) throw new LockUnavailableError(key, 'the answer was lost');
    if (isLate) await sleep(byMs);
    return reply;
  }

  private take(fault: keyof Faults): boolean {
    if (this.faults[fault] <= 0) return false;
    this.faults[fault]--;
    return true;
  }
}
