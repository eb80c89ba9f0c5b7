import { Deadlines } from '../../lock/deadlines.js';
import type { LockLogger } from '../../lock/lock-events.js';
import { LockUnavailableError } from '../../lock/lock.errors.js';
import { RedisConnection } from '../redis/redis-connection.js';
import type { RedisServerSource } from '../redis/redis-options.js';

export interface NodesOptions {
  readonly sources: readonly RedisServerSource[];
  /** How long one node may take for its answer, in ms. */
  readonly timeoutMs: number;
  readonly commandTimeoutMs: number;
  readonly logger: LockLogger;
  readonly scripts: readonly { readonly lua: string }[];
}

/** Independent servers of Redis, over one connection each. */
export class Nodes {
  readonly all: readonly RedisConnection[];
  readonly majority: number;
  readonly timeoutMs: number;
  readonly deadlines = new Deadlines();

  /** @throws LockArgumentError when a source is none. */
  constructor({ sources, timeoutMs, commandTimeoutMs, logger, scripts }: NodesOptions) {
    this.timeoutMs = timeoutMs;
    this.majority = Math.floor(sources.length / 2) + 1;
    const opened: RedisConnection[] = [];
    this.all = opened;
    try {
      for (const [index, source] of sources.entries()) {
        const named = { warn: (message: string) => logger.warn(`Node ${index + 1} of ${sources.length}: ${message}`) };
        opened.push(new RedisConnection({ source, commandTimeoutMs, logger: named, scripts }));
      }
    } catch (error) {
      void this.close();
      throw error;
    }
  }

  /** Whether a majority can be asked now. */
  get areReady(): boolean {
    let ready = 0;
    for (const node of this.all) if (node.isReady) ready++;
    return ready >= this.majority;
  }

  get generation(): number {
    return this.all.reduce((sum, { generation }) => sum + generation, 0);
  }

  /** Changes whenever a command has come behind those that were sent after it. */
  get resent(): number {
    return this.all.reduce((sum, { resent }) => sum + resent, 0);
  }

  /**
   * Waits until a majority can be asked.
   * @throws LockUnavailableError after `withinMs`.
   */
  async untilReady(name: string, withinMs: number): Promise<void> {
    const failures: unknown[] = [];
    await new Promise<void>((resolve, reject) => {
      for (const node of this.all) {
        node.untilReady(name, withinMs).then(
          () => this.areReady && resolve(),
          (error: unknown) => {
            failures.push(error);
            if (failures.length === this.all.length - this.majority + 1) reject(this.tooFewReady(name, failures[0]));
          },
        );
      }
    });
  }

  /** Why a node is not asked. */
  outOfReach(name: string, node: RedisConnection): LockUnavailableError {
    const what = `node ${this.all.indexOf(node) + 1} is out of reach`;
    return new LockUnavailableError(name, what, { mayHaveRun: false });
  }

  async close(): Promise<void> {
    this.deadlines.clear();
    await Promise.all(this.all.map(async (node) => node.close()));
  }

  private tooFewReady(name: string, cause: unknown): LockUnavailableError {
    const ready = this.all.filter(({ isReady }) => isReady).length;
    const why = cause instanceof LockUnavailableError ? ` (${cause.what})` : '';
    const what = `only ${ready} of ${this.all.length} nodes are within reach, ${this.majority} are needed${why}`;
    const retryable = !(cause instanceof LockUnavailableError) || cause.retryable;
    return new LockUnavailableError(name, what, { cause, retryable, mayHaveRun: false });
  }
}
