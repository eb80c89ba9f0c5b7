import type { Redis } from 'ioredis';
import type { LockLogger } from '../../lock/lock-events.js';
import { LockUnavailableError, notWanted } from '../../lock/lock.errors.js';
import { runOutsideScopes } from '../../lock/scope.js';
import { withTimeout } from '../../lock/timeout.js';
import { Packets } from './packets.js';
import { fenceKey } from './physical-key.js';
import { toUnavailable } from './redis-errors.js';
import { closeRedis, openRedis, type RedisServerSource } from './redis-options.js';
import { ReplicaPool } from './replica-pool.js';
import type { Script } from './script.js';
import type { Servers } from './servers.js';
import { ServerClock } from './server-clock.js';
import { evictionPolicyOf, whyTooOld } from './server-info.js';
import { SilenceWatch } from './silence.js';

/** How long after ioredis has given up it is told to connect again, in ms. */
const CONNECTS_AGAIN_MS = 50;

export interface RedisConnectionOptions {
  readonly source: RedisServerSource;
  readonly commandTimeoutMs: number;
  readonly logger: LockLogger;
  /** Loaded whenever the connection is made anew. */
  readonly scripts: readonly { readonly lua: string }[];
  /** Called when the connection breaks. */
  readonly onBroken?: () => void;
}

/**
 * One connection of ours to one Redis. Scripts are sent only while it is ready; whoever comes earlier waits for that,
 * bounded.
 */
export class RedisConnection implements Servers {
  readonly clock = new ServerClock();
  /** How often the connection has broken. */
  generation = 0;
  /** How often a script that the server did not know was sent again: behind what had been sent meanwhile. */
  resent = 0;
  private readonly redis: Redis;
  private pool: ReplicaPool | undefined;
  private readonly packets = new Packets();
  private readonly silence: SilenceWatch;
  /** Whether it became ready, or was closed before. */
  private ready: Promise<boolean>;
  private becomeReady!: (isReady: boolean) => void;
  private prepared = false;
  private retired = false;
  private closed = false;
  private tooOld: string | undefined;
  private lastError: unknown;
  private warnedOfOutage = false;
  private warnedOfEviction = false;

  /** @throws LockArgumentError when the source is none. */
  constructor(private readonly options: RedisConnectionOptions) {
    this.ready = this.whenPrepared();
    this.redis = openRedis(options.source, options.commandTimeoutMs);
    this.silence = new SilenceWatch(this.redis, 2 * options.commandTimeoutMs);
    this.redis.on('error', (error) => this.onError(error));
    this.redis.on('ready', () => void this.prepare());
    this.redis.on('close', () => this.onClose());
    this.redis.on('end', () => this.onEnd());
  }

  get isReady(): boolean {
    return this.prepared;
  }

  nodeOf(): this {
    return this;
  }

  fenceOf(prefix: string): string {
    return fenceKey(prefix);
  }

  /**
   * Runs a script. Rejects at once when the connection breaks, and after the command timeout when it was not ready until
   * then; a command that was sent has no time limit here. `stillWanted` is asked before each time that it is sent.
   * `asking`: this node of a Cluster is getting the slot, and must be told that we know.
   * @throws LockUnavailableError
   */
  run<Args extends readonly unknown[], Reply>(
    script: Script<Args, Reply>,
    name: string,
    keys: readonly string[],
    args: Args,
    stillWanted?: () => boolean,
    asking = false,
  ): Promise<Reply> {
    if (!this.prepared) {
      const ready = this.untilReady(name, this.options.commandTimeoutMs);
      return ready.then(() => this.run(script, name, keys, args, stillWanted, asking));
    }
    if (this.tooOld !== undefined) {
      return Promise.reject(new LockUnavailableError(name, this.tooOld, { mayHaveRun: false, retryable: false }));
    }
    const all: unknown[] = [script.sha, keys.length, ...keys, ...args];
    const read = (answer: unknown): Reply => {
      this.silence.answered();
      return script.read(answer);
    };
    const refuse = (error: unknown): never => {
      this.silence.answered();
      throw toUnavailable(name, error);
    };
    if (asking) this.ask();
    return this.send('evalsha', all, name, stillWanted).then(read, (error: unknown) => {
      if (!isNoScript(error)) return refuse(error);
      this.silence.answered();
      this.resent++;
      all[0] = script.lua;
      if (asking) this.ask();
      return this.send('eval', all, name, stillWanted).then(read, refuse);
    });
  }

  /**
   * Waits until the connection is ready and the clock of the server is known.
   * @throws LockUnavailableError after `withinMs`.
   */
  async untilReady(name: string, withinMs: number): Promise<void> {
    if (this.prepared) return;
    const isReady = await withTimeout(this.ready, withinMs, () => {
      const cause = this.lastError;
      const what = `Redis is out of reach${this.whyNotReady()}`;
      return new LockUnavailableError(name, what, { cause, mayHaveRun: false });
    });
    if (isReady) return;
    const what = this.retired ? 'the node has left the Cluster' : 'the client was closed';
    throw new LockUnavailableError(name, what, { mayHaveRun: false, retryable: this.retired });
  }

  /**
   * Asks the server whether messages may be published to a channel, by an empty one.
   * @throws the answer of the server.
   */
  async askPermissionToPublish(channel: string): Promise<void> {
    const { commandTimeoutMs } = this.options;
    await this.untilReady(channel, commandTimeoutMs);
    await withTimeout(this.redis.publish(channel, ''), commandTimeoutMs, () => new Error('not answered'));
  }

  /**
   * Waits until so many replicas have what was written last over this connection, `ms` at most.
   * @returns how many have.
   * @throws LockUnavailableError
   */
  async acknowledged(name: string, count: number, ms: number): Promise<number> {
    return this.tell(name, async () => this.redis.wait(count, ms), ms + this.options.commandTimeoutMs);
  }

  /**
   * How many replicas are connected.
   * @throws LockUnavailableError
   */
  async replicas(name: string): Promise<number> {
    const info = await this.tell(name, async () => this.redis.info('replication'), this.options.commandTimeoutMs);
    return Number(/connected_slaves:(\d+)/.exec(info)?.[1] ?? 0);
  }

  /** Where locks of this server wait for its replicas. */
  get replicaPool(): ReplicaPool {
    const { onBroken: _, ...options } = this.options;
    this.pool ??= new ReplicaPool(() =>
      runOutsideScopes(() => new RedisConnection({ ...options, logger: { warn: () => undefined } })),
    );
    return this.pool;
  }

  openInbox(): Redis {
    return openRedis(this.options.source, this.options.commandTimeoutMs);
  }

  /** Closes it because its node has no slots any more: whoever waits for it may ask again, and is sent elsewhere. */
  async retire(): Promise<void> {
    this.retired = true;
    await this.close();
  }

  /** Whoever waits for the connection gives up. */
  async close(): Promise<void> {
    this.closed = true;
    this.becomeReady(false);
    await (this.retired ? this.pool?.retire() : this.pool?.close());
    await closeRedis(this.redis, this.options.commandTimeoutMs);
  }

  private send(command: string, args: unknown[], name: string, stillWanted?: () => boolean): Promise<unknown> {
    const isBusy = this.silence.unanswered > 0;
    // Whoever is rejected here is answered as well.
    this.silence.asked();
    if (stillWanted?.() === false) return Promise.reject(notWanted(name));
    this.packets.writing(this.redis.stream, isBusy);
    // Not a Command of ours: another copy of ioredis may have made the user's client, and would not take it.
    return this.redis.call(command, ...(args as string[]));
  }

  /** Said for the command that follows. */
  private ask(): void {
    this.redis.asking().catch(() => undefined);
  }

  /** A command that is no script; a connection on which it is not answered in time is given up. */
  private async tell<T>(name: string, command: () => Promise<T>, withinMs: number): Promise<T> {
    await this.untilReady(name, this.options.commandTimeoutMs);
    const { stream } = this.redis;
    const late = (): Error => {
      const error = new Error(`No answer for ${withinMs} ms`);
      stream.destroy(error);
      return error;
    };
    return withTimeout(command(), withinMs, late).catch((error: unknown) => {
      throw toUnavailable(name, error);
    });
  }

  private whyNotReady(): string {
    // ioredis asks again and again, and says nothing, until a server has loaded its data.
    if (this.redis.status === 'connect') return ' (it takes connections, but may still be loading its data)';
    return this.lastError instanceof Error ? ` (${this.lastError.message})` : '';
  }

  private whenPrepared(): Promise<boolean> {
    return new Promise((resolve) => (this.becomeReady = resolve));
  }

  /** Learns the server's clock and gives it the scripts, then lets the callers through. */
  private async prepare(): Promise<void> {
    const { commandTimeoutMs, scripts } = this.options;
    const { stream } = this.redis;
    // Asked first, so that it is answered when the time is; some managed services forbid it.
    const info = this.redis.info().catch(() => '');
    try {
      const sent = performance.now();
      const loads = scripts.map(async ({ lua }) => this.redis.call('SCRIPT', 'LOAD', lua).catch(() => undefined));
      const asked = Promise.all([this.redis.time(), ...loads]);
      const late = (): Error => new Error('The server does not answer');
      const [[seconds, micros]] = await withTimeout(asked, 2 * commandTimeoutMs, late);
      this.clock.learn(Number(seconds) * 1e6 + Number(micros), sent);
    } catch (error) {
      this.lastError = error;
      if (this.redis.status !== 'ready' || this.redis.stream !== stream) return;
      if (!isReply(error)) return void stream.destroy(error as Error);
    }
    const about = await info;
    if (this.redis.status !== 'ready' || this.redis.stream !== stream) return;
    this.tooOld = whyTooOld(about);
    this.warnedOfOutage = false;
    this.lastError = undefined;
    this.prepared = true;
    this.becomeReady(true);
    this.warnOfEviction(about);
  }

  private onClose(): void {
    this.generation++;
    this.options.onBroken?.();
    if (!this.prepared) return;
    this.prepared = false;
    this.ready = this.whenPrepared();
  }

  /**
   * ioredis gives a connection up for good when the Sentinels tell it of a failover while it is asking them for the master:
   * what it hears makes it break off its own attempt.
   */
  private onEnd(): void {
    const connect = (): unknown => this.closed || this.redis.connect().catch(() => undefined);
    if (!this.closed) setTimeout(connect, CONNECTS_AGAIN_MS);
  }

  private onError(error: Error): void {
    this.lastError = error;
    if (this.warnedOfOutage) return;
    this.warnedOfOutage = true;
    this.options.logger.warn(`Redis is out of reach, locks cannot be obtained until it is back: ${error.message}`);
  }

  private warnOfEviction(info: string): void {
    if (this.warnedOfEviction) return;
    const policy = evictionPolicyOf(info);
    if (!policy) return;
    this.warnedOfEviction = true;
    this.options.logger.warn(
      `This Redis has maxmemory-policy ${policy}: when its memory is full it evicts locks. Set it to noeviction.`,
    );
  }
}

/** Whether the server has answered, if only with an error. */
function isReply(error: unknown): boolean {
  return error instanceof Error && error.name === 'ReplyError';
}

function isNoScript(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('NOSCRIPT');
}
