import type { Deadline } from '../../lock/deadlines.js';
import { LockUnavailableError } from '../../lock/lock.errors.js';
import type { RedisConnection } from '../redis/redis-connection.js';
import type { Script } from '../redis/script.js';
import type { Nodes } from './nodes.js';

/**
 * One question to all nodes at once. It is decided as soon as the answers suffice, or when the time of a node is over;
 * answers that come later are told to {@link answered} all the same.
 */
export abstract class Poll<Answer, Outcome> {
  protected decided = false;
  /** Nodes whose answer may still come. */
  protected pending: number;
  private failures = 0;
  private lasting = 0;
  private firstFailure: LockUnavailableError | undefined;
  private limit: Deadline | undefined;
  private resolve!: (outcome: Outcome) => void;
  private reject!: (error: LockUnavailableError) => void;

  constructor(
    protected readonly nodes: Nodes,
    protected readonly key: string,
  ) {
    this.pending = nodes.all.length;
  }

  /** Takes an answer into account, before and after the decision. */
  protected abstract answered(node: RedisConnection, answer: Answer): void;

  /** Looks whether the answers suffice, and then calls {@link settle} or {@link fail}. `lost`: so many will not come. */
  protected abstract decide(lost: number): void;

  /** There is nobody left whose answer could come. */
  protected ended(): void {}

  /** Too few nodes have answered. */
  protected unanswered(error: LockUnavailableError): void {
    this.fail(error);
  }

  protected ask<Args extends readonly unknown[]>(
    script: Script<Args, Answer>,
    keys: readonly string[],
    argsOf: (node: RedisConnection) => Args,
  ): Promise<Outcome> {
    const { nodes, key } = this;
    const outcome = new Promise<Outcome>((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
    this.limit = nodes.deadlines.in(nodes.timeoutMs, () => this.timeIsOver());
    for (const node of nodes.all) {
      if (!node.isReady) this.miss(nodes.outOfReach(key, node));
      else {
        node.run(script, key, keys, argsOf(node)).then(
          (answer) => this.heard(node, answer),
          (error: LockUnavailableError) => this.miss(error),
        );
      }
    }
    return outcome;
  }

  protected settle(outcome: Outcome): void {
    this.postpone();
    this.resolve(outcome);
  }

  protected fail(error: LockUnavailableError): void {
    this.postpone();
    this.reject(error);
  }

  /** It is decided, but something else has to be done before it is settled. */
  protected postpone(): void {
    this.decided = true;
    this.limit?.cancel();
  }

  private miss(error: LockUnavailableError): void {
    this.firstFailure ??= error;
    this.failures++;
    if (!error.retryable) this.lasting++;
    this.next();
  }

  private heard(node: RedisConnection, answer: Answer): void {
    this.answered(node, answer);
    this.next();
  }

  private next(): void {
    this.pending--;
    if (!this.decided) this.consider(this.failures);
    if (this.pending === 0) this.ended();
  }

  private timeIsOver(): void {
    if (!this.decided) this.consider(this.failures + this.pending);
  }

  private consider(lost: number): void {
    const { all, majority } = this.nodes;
    if (lost > all.length - majority) this.unanswered(this.tooFew(all.length - lost));
    else this.decide(lost);
  }

  private tooFew(answers: number): LockUnavailableError {
    const { all, majority, timeoutMs } = this.nodes;
    const why = this.firstFailure?.what ?? `the others did not within ${Math.round(timeoutMs)} ms`;
    const what = `only ${answers} of ${all.length} nodes answered, ${majority} are needed (${why})`;
    const retryable = this.lasting <= all.length - majority;
    return new LockUnavailableError(this.key, what, { cause: this.firstFailure, retryable });
  }
}
