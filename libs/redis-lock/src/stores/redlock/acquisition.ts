import { driftOf, elapsedSince, now, type Moment } from '../../lock/clock.js';
import { LockUnavailableError, notWanted } from '../../lock/lock.errors.js';
import type { AcquireCommand, AcquiredReply, AcquireReply, HeldReply } from '../lock-store.js';
import type { RedisConnection } from '../redis/redis-connection.js';
import { heldBy, mostNamed } from './held.js';
import { Poll } from './poll.js';
import { acquireScript, type NodeAnswer } from './scripts/acquire.js';
import { undoScript } from './scripts/undo.js';
import type { RedlockParts } from './redlock.store.js';
import type { Tie } from './ties.js';
import { TokenWriting } from './token-writing.js';

/** A reply whose nodes become more when others follow. */
export type Growing<Reply extends { readonly nodes?: number }> = Omit<Reply, 'nodes'> & { nodes: number };

/**
 * One attempt to get a lock on a majority of the nodes. What is left of it is counted from before the first command was
 * sent, and where it comes to nothing, everything is undone on every node, however late that answers.
 * @see https://redis.io/docs/latest/develop/clients/patterns/distributed-locks/
 */
export class Acquisition extends Poll<NodeAnswer, AcquireReply> {
  private readonly owned: { readonly node: RedisConnection; readonly token: number; readonly agreed: boolean }[] = [];
  private readonly held: HeldReply[] = [];
  /** Nodes that have done nothing for sure. */
  private readonly refusing: RedisConnection[] = [];
  /** Nodes that have granted the lock and knew no number from the proposed token on. */
  private accepted = 0;
  /** The highest number that a node has told. */
  private fence = 0;
  /** Whether the member owned the lock somewhere already. */
  private again = false;
  private lateNodes = 0;
  private proposal = 0;
  /** What was agreed upon. */
  private token = 0;
  private sent!: Moment;
  private resentBefore = 0;
  private state: 'asking' | 'writing' | 'obtained' | 'undone' = 'asking';
  private reply: Growing<AcquiredReply> | undefined;
  private tie: Tie | undefined;

  constructor(
    private readonly parts: RedlockParts,
    private readonly command: AcquireCommand,
    private readonly keys: readonly [lock: string, queue: string, fence: string],
    private readonly called: number,
    private readonly wasLate = false,
  ) {
    super(parts.nodes, command.key);
  }

  start(): Promise<AcquireReply> {
    const { key, member, leaseMs, withinMs, queue, stillWanted } = this.command;
    if (stillWanted?.() === false) return Promise.reject(notWanted(key));
    this.sent = now();
    this.resentBefore = this.nodes.resent;
    const left = withinMs - (this.sent.monotonic - this.called);
    const token = this.parts.tokens.propose();
    this.proposal = this.token = token;
    // Written once, and not by each connection anew.
    const [tokenText, leaseText] = [String(token), String(leaseMs)];
    const keys = this.parts.fencing ? this.keys : this.keys.slice(0, 2);
    return this.ask(acquireScript, keys, ({ clock }) => {
      const notAfter = clock.in(left);
      return queue
        ? ([member, tokenText, leaseText, notAfter, '+'] as const)
        : ([member, tokenText, leaseText, notAfter] as const);
    });
  }

  protected answered(node: RedisConnection, answer: NodeAnswer): void {
    if (answer.status === 'held' || answer.status === 'late') {
      this.refusing.push(node);
      if (answer.status === 'held') this.held.push(answer);
      else {
        node.clock.learn(answer.serverTimeUs, this.sent.monotonic);
        this.lateNodes++;
      }
      return;
    }
    const isNew = answer.status === 'granted';
    const token = isNew ? this.proposal : answer.token;
    if (this.state !== 'asking') return this.follow(node, token);
    const agreed = isNew ? answer.fence < token : answer.agreed;
    this.owned.push({ node, token, agreed });
    if (answer.fence > this.fence) this.fence = answer.fence;
    if (!isNew) this.again = true;
    else if (agreed) this.accepted++;
  }

  protected decide(lost: number): void {
    const { all, majority } = this.nodes;
    const { owned, held } = this;
    const missing = lost + this.lateNodes;
    const open = all.length - owned.length - held.length - missing;
    // What it owns already may have been agreed upon: the others are heard as well.
    if (owned.length >= majority) return this.again && open > 0 ? undefined : this.granted();
    if (missing > all.length - majority) {
      const what = `Redis received the command later than ${Math.round(this.command.withinMs)} ms after it was sent`;
      this.unanswered(new LockUnavailableError(this.key, what, { late: true }));
    } else if (owned.length + held.length >= majority && all.length - missing - held.length < majority) {
      this.undo();
      this.settle(heldBy(mostNamed(held), majority - owned.length));
    }
  }

  /** Clocks that were wrong are right now: it is tried once more. */
  protected override unanswered(error: LockUnavailableError): void {
    this.undo();
    if (this.lateNodes === 0 || this.wasLate) return this.fail(error);
    const { parts, command, keys, called } = this;
    const left = command.withinMs - (performance.now() - called);
    if (left <= 0) return this.fail(error);
    this.postpone();
    new Acquisition(parts, command, keys, called, true).start().then(
      (reply) => this.settle(reply),
      (reason: LockUnavailableError) => this.fail(reason),
    );
  }

  protected override ended(): void {
    if (this.tie) this.parts.ties.untie(this.command.member, this.tie);
    this.tie = undefined;
  }

  private granted(): void {
    const { parts, nodes, accepted, owned } = this;
    if (this.pending > 0) this.tie = parts.ties.tie(this.command.member);
    const isSettled = !this.again && (accepted >= nodes.majority || !parts.fencing);
    if (isSettled) return this.obtain(this.command.leaseMs, owned.length);
    this.state = 'writing';
    this.token = this.agreed() ?? parts.tokens.above(this.fence);
    this.write();
  }

  /** The token that a majority has from an earlier answer, which nobody heard. */
  private agreed(): number | undefined {
    const agreed = this.owned.filter((owned) => owned.agreed);
    return agreed.find((one) => agreed.filter(({ token }) => token === one.token).length >= this.nodes.majority)?.token;
  }

  /** Writes the token to a majority, and learns on how many nodes and for how long the lock is still ours. */
  private write(): void {
    const writing = new TokenWriting(this.nodes, this.command, this.keys, this.token);
    this.postpone();
    writing.start().then(
      (written) => {
        this.obtain(written.remainingMs, written.nodes);
        writing.reply = this.reply;
      },
      (error: LockUnavailableError) => {
        this.undo();
        this.fail(error);
      },
    );
  }

  private obtain(remainingMs: number, nodes: number): void {
    if (remainingMs - driftOf(remainingMs) - elapsedSince(this.sent) <= 0) {
      this.undo();
      const what = 'its lease was over before a majority of the nodes had answered; raise "ttl"';
      return this.fail(new LockUnavailableError(this.key, what));
    }
    this.state = 'obtained';
    const { token } = this;
    this.reply = { status: 'acquired', token, remainingMs, nodes };
    this.settle(this.reply);
  }

  /** A node that has granted the lock after the decision. */
  private follow(node: RedisConnection, token: number): void {
    if (this.state === 'undone' || this.tie?.over) {
      // The undoing or the release was sent behind the command, and came behind it unless that was sent again.
      if (this.nodes.resent !== this.resentBefore) this.undoAt(node, token);
      return;
    }
    if (token !== this.token) return TokenWriting.at(node, this.command, this.keys, this.token);
    if (this.state === 'obtained' && this.reply && !this.written) this.reply.nodes++;
  }

  private get written(): boolean {
    return this.again || this.accepted < this.nodes.majority;
  }

  /**
   * Also where an answer is still to come: the command is on its way there, and this one goes behind it. Where a script
   * was not known and sent again, the answer is looked at as well.
   */
  private undo(): void {
    const before = this.state;
    this.state = 'undone';
    const tokens = new Map(this.owned.map(({ node, token }) => [node, token]));
    for (const node of this.nodes.all) {
      if (this.refusing.includes(node)) continue;
      this.undoAt(node, tokens.get(node) ?? this.proposal);
      if (before === 'writing') this.undoAt(node, this.token);
    }
  }

  private undoAt(node: RedisConnection, token: number): void {
    if (!node.isReady) return;
    const [lock] = this.keys;
    node.run(undoScript, this.key, [lock], [`${this.command.member}/${token}`]).catch(() => undefined);
  }
}
