import { notWanted } from '../../lock/lock.errors.js';
import {
  NO_INBOX,
  type AcquireCommand,
  type AcquireReply,
  type GrantInbox,
  type Holders,
  type LockState,
  type LockStore,
  type ReleaseReply,
  type RenewCommand,
  type RenewReply,
} from '../lock-store.js';

/** No lease ends here, in ms. */
const FOR_EVER = Number.MAX_SAFE_INTEGER;

/** Says yes to everybody: what `enabled: false` works on. Tokens grow, nothing is kept, nobody is excluded. */
export class PassThroughLockStore implements LockStore {
  private highestToken = 0;

  async acquire({ key, stillWanted }: AcquireCommand): Promise<AcquireReply> {
    if (stillWanted?.() === false) throw notWanted(key);
    this.highestToken = Math.max(Date.now() * 1000, this.highestToken + 1);
    return { status: 'acquired', token: this.highestToken, remainingMs: FOR_EVER };
  }

  async release(): Promise<ReleaseReply> {
    return { status: 'released' };
  }

  renew(commands: readonly RenewCommand[]): Promise<RenewReply>[] {
    return commands.map(async (): Promise<RenewReply> => ({ status: 'renewed', remainingMs: FOR_EVER }));
  }

  async inspect(): Promise<LockState> {
    return { status: 'free' };
  }

  async holders(): Promise<Holders> {
    return { holders: [], permits: 0, queued: 0 };
  }

  async reduce(): Promise<boolean> {
    return true;
  }

  grants(): GrantInbox {
    return NO_INBOX;
  }

  async close(): Promise<void> {}
}
