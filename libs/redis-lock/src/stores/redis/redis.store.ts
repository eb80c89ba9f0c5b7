import type { LockLogger } from '../../lock/lock-events.js';
import { LockUnavailableError } from '../../lock/lock.errors.js';
import type {
  AcquireCommand,
  AcquireReply,
  HeldReply,
  LockState,
  LockStore,
  ReleaseCommand,
  ReleaseReply,
  RenewCommand,
  RenewReply,
} from '../lock-store.js';
import { fenceKey, physicalKey } from './physical-key.js';
import { RedisConnection } from './redis-connection.js';
import type { RedisConnectionSource } from './redis-options.js';
import { acquireScript } from './scripts/acquire.js';
import { inspectScript } from './scripts/inspect.js';
import { releaseScript } from './scripts/release.js';
import { renewScript } from './scripts/renew.js';
import { REST_FIELD } from './scripts/shared.js';

export interface RedisLockStoreOptions {
  readonly connection: RedisConnectionSource;
  readonly prefix: string;
  readonly commandTimeoutMs: number;
  readonly logger: LockLogger;
}

/** Locks in one Redis: a hash a lock, changed by one script a command. */
export class RedisLockStore implements LockStore {
  private readonly connection: RedisConnection;
  private readonly prefix: string;

  /** @throws LockArgumentError when `connection` is none. */
  constructor({ connection, prefix, commandTimeoutMs, logger }: RedisLockStoreOptions) {
    this.prefix = prefix;
    const scripts = [acquireScript, releaseScript, renewScript, inspectScript];
    this.connection = new RedisConnection({ source: connection, commandTimeoutMs, logger, scripts });
  }

  async acquire({ key, member, leaseMs, withinMs, stillWanted }: AcquireCommand): Promise<AcquireReply> {
    const { clock } = this.connection;
    const called = performance.now();
    await this.connection.untilReady(key, withinMs);
    const keys = [physicalKey(this.prefix, key), fenceKey(this.prefix)];
    // A command that was refused as late teaches the server's clock, and is sent once more with what is left of its time.
    for (let late = 0; late < 2; late++) {
      const left = withinMs - (performance.now() - called);
      if (left <= 0) break;
      const sent = performance.now();
      const limits = { withinMs: left, stillWanted };
      const reply = await this.connection.run(acquireScript, key, keys, [member, leaseMs, clock.in(left)], limits);
      if (reply[0] === 'acquired') return { status: 'acquired', token: Number(reply[1]), remainingMs: reply[2] };
      if (reply[0] === 'held') return heldBy(reply[1], reply[2]);
      clock.learn(Number(reply[1]), sent);
    }
    const what = `Redis received the command later than ${Math.round(withinMs)} ms after it was sent`;
    throw new LockUnavailableError(key, what, { mayHaveRun: false, late: true });
  }

  async release({ key, member, token, minHoldMs }: ReleaseCommand): Promise<ReleaseReply> {
    return this.connection.run(
      releaseScript,
      key,
      [physicalKey(this.prefix, key)],
      [member, token === undefined ? '' : String(token), minHoldMs],
    );
  }

  renew(commands: readonly RenewCommand[]): Promise<RenewReply>[] {
    return commands.map(async ({ key, member, token, leaseMs }): Promise<RenewReply> => {
      const remainingMs = await this.connection.run(
        renewScript,
        key,
        [physicalKey(this.prefix, key)],
        [`${member}/${token}`, leaseMs],
      );
      return remainingMs < 0 ? { status: 'gone' } : { status: 'renewed', remainingMs };
    });
  }

  async inspect(key: string): Promise<LockState> {
    const holder = await this.connection.run(inspectScript, key, [physicalKey(this.prefix, key)], []);
    return holder ? heldBy(holder[0], holder[1]) : { status: 'free' };
  }

  async close(): Promise<void> {
    await this.connection.close();
  }
}

/** Reads the field of a hold, `<member>/<token>`. */
function heldBy(field: string, remainingMs: number): HeldReply {
  if (field === REST_FIELD) return { status: 'held', holder: 'minHold', token: 0, heldSince: undefined, remainingMs };
  const [, member, digits] = /^(.+)\/(\d{1,16})$/s.exec(field) ?? [];
  // A hash of somebody else stands where the lock would be: it is as good as held, by we do not know whom.
  if (!member) return { status: 'held', holder: field, token: 0, heldSince: undefined, remainingMs };
  const token = Number(digits);
  return { status: 'held', holder: member, token, heldSince: Math.floor(token / 1000), remainingMs };
}
