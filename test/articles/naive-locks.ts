import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';

// The rungs of the ladder that articles about locks in Redis climb. Each is right about something and wrong about the
// next thing; the tests show both.

/** The first rung: SETNX, and then EXPIRE. */
export class TwoStepLock {
  constructor(
    private readonly redis: Redis,
    private readonly key: string,
    private readonly leaseMs: number,
  ) {}

  /** @param between what happens between the two commands */
  async tryLock(between: () => Promise<unknown>): Promise<boolean> {
    if ((await this.redis.setnx(this.key, 'locked')) === 0) return false;
    await between();
    await this.redis.pexpire(this.key, this.leaseMs);
    return true;
  }
}

/** SET NX EX in one command, and a blind DEL. */
export class BlindLock {
  constructor(
    protected readonly redis: Redis,
    readonly key: string,
    protected readonly leaseMs: number,
  ) {}

  async tryLock(): Promise<boolean> {
    return (await this.redis.set(this.key, this.value, 'PX', this.leaseMs, 'NX')) === 'OK';
  }

  async unlock(): Promise<void> {
    await this.redis.del(this.key);
  }

  /** What a watchdog does that does not ask whose lock it is. */
  async renew(): Promise<void> {
    await this.redis.pexpire(this.key, this.leaseMs);
  }

  protected get value(): string {
    return 'locked';
  }
}

/** A token of its own for each owner, checked before the DEL: GET, compare, DEL. */
export class TokenLock extends BlindLock {
  protected readonly token = randomUUID();

  protected override get value(): string {
    return this.token;
  }

  /** @param between what happens between GET and DEL */
  override async unlock(between: () => Promise<unknown> = async () => undefined): Promise<void> {
    if ((await this.redis.get(this.key)) !== this.token) return;
    await between();
    await this.redis.del(this.key);
  }
}

/** Compare and DEL in one script. Its lease is fixed, and nobody enters twice. */
export class ScriptLock extends TokenLock {
  override async unlock(): Promise<void> {
    const script = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0";
    await this.redis.eval(script, 1, this.key, this.token);
  }
}

/** Re-entry as a count in a hash, by the owner `<process>:<thread>`. */
export class CountingLock {
  constructor(
    private readonly redis: Redis,
    readonly key: string,
    private readonly owner: string,
  ) {}

  async tryLock(): Promise<boolean> {
    const script = `
      if redis.call('EXISTS', KEYS[1]) == 1 and redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then return 0 end
      redis.call('HINCRBY', KEYS[1], ARGV[1], 1)
      redis.call('PEXPIRE', KEYS[1], 60000)
      return 1`;
    return (await this.redis.eval(script, 1, this.key, this.owner)) === 1;
  }

  async unlock(): Promise<void> {
    const script = `
      if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then return end
      if redis.call('HINCRBY', KEYS[1], ARGV[1], -1) <= 0 then redis.call('DEL', KEYS[1]) end`;
    await this.redis.eval(script, 1, this.key, this.owner);
  }
}

/** A lock within one process: one caller of a key at a time, in the order of their calls. */
export class ProcessLocks {
  private readonly tails = new Map<string, Promise<unknown>>();

  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const turn = (this.tails.get(key) ?? Promise.resolve()).then(work);
    this.tails.set(
      key,
      turn.catch(() => undefined),
    );
    return turn;
  }
}
