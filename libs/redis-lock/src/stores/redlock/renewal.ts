import { LockUnavailableError } from '../../lock/lock.errors.js';
import type { RenewCommand, RenewReply } from '../lock-store.js';
import type { RedisConnection } from '../redis/redis-connection.js';
import type { Growing } from './acquisition.js';
import { Poll } from './poll.js';
import type { RedlockParts } from './redlock.store.js';
import { acquireScript } from './scripts/acquire.js';
import { releaseScript } from './scripts/release.js';
import { renewScript } from './scripts/renew.js';
import { undoScript } from './scripts/undo.js';
import type { Tie } from './ties.js';

type Renewed = Growing<Extract<RenewReply, { status: 'renewed' }>>;

/**
 * Extends a lease on a majority of the nodes that still have it. Nodes that do not, since they were restarted or have
 * granted nothing, get it anew where it is free there: not for this renewal, for the next ones.
 */
export class Renewal extends Poll<number, RenewReply> {
  private readonly leases: number[] = [];
  private readonly gone: RedisConnection[] = [];
  private reply: Renewed | undefined;
  private readonly tie: Tie;
  private repairs = 0;

  constructor(
    private readonly parts: RedlockParts,
    private readonly command: RenewCommand,
    private readonly keys: readonly [lock: string, queue: string, fence: string],
  ) {
    super(parts.nodes, command.key);
    this.tie = parts.ties.tie(command.member);
  }

  start(): Promise<RenewReply> {
    const [lock] = this.keys;
    const { leaseMs } = this.command;
    return this.ask(renewScript, [lock], () => [this.owner, leaseMs] as const);
  }

  private get owner(): string {
    return `${this.command.member}/${this.command.token}`;
  }

  protected answered(node: RedisConnection, remainingMs: number): void {
    if (remainingMs < 0) {
      if (this.reply) this.repair(node);
      else this.gone.push(node);
    } else if (this.reply) this.reply.nodes++;
    else this.leases.push(remainingMs);
  }

  protected decide(lost: number): void {
    const { all, majority } = this.nodes;
    if (this.leases.length >= majority) {
      this.leases.sort((a, b) => b - a);
      const remainingMs = this.leases[majority - 1] ?? 0;
      this.reply = { status: 'renewed', remainingMs, nodes: this.leases.length };
      for (const node of this.gone) this.repair(node);
      this.settle(this.reply);
    } else if (this.gone.length > all.length - majority) {
      this.end();
      this.settle({ status: 'gone' });
    } else if (this.leases.length + this.gone.length + lost >= all.length) {
      const what = `only ${this.leases.length} of ${all.length} nodes have renewed it, ${majority} are needed`;
      this.fail(new LockUnavailableError(this.key, what));
    }
  }

  protected override ended(): void {
    if (this.repairs === 0) this.parts.ties.untie(this.command.member, this.tie);
  }

  private repair(node: RedisConnection): void {
    if (this.tie.over || !node.isReady) return;
    const { member, token, leaseMs } = this.command;
    const [lock] = this.keys;
    this.repairs++;
    const notAfter = node.clock.in(this.nodes.timeoutMs);
    const repaired = node.run(acquireScript, this.key, this.keys, [member, String(token), String(leaseMs), notAfter]);
    repaired
      .then(
        ({ status }) => {
          if (status !== 'granted') return;
          if (this.tie.over) return node.run(undoScript, this.key, [lock], [this.owner]);
          if (this.reply) this.reply.nodes++;
        },
        () => undefined,
      )
      .catch(() => undefined)
      .finally(() => {
        this.repairs--;
        if (this.pending === 0) this.ended();
      });
  }

  /** Too few nodes have it, so that nobody holds it: what is left is freed. */
  private end(): void {
    const { member, token } = this.command;
    const [lock, queue] = this.keys;
    for (const node of this.nodes.all) {
      if (this.gone.includes(node) || !node.isReady) continue;
      node.run(releaseScript, this.key, [lock, queue], [member, String(token), '0']).catch(() => undefined);
    }
  }
}
