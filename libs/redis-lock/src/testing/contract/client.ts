import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { Grant, GrantInbox, LockStore } from '../../stores/lock-store.js';
import { until } from './until.js';

/** A client of the store: the name of its members, and what its inbox was told. */
export class ContractClient {
  readonly instance = `client-${randomUUID()}`;
  readonly inbox: GrantInbox;
  readonly grants: Grant[] = [];
  opened = 0;
  private refused = false;
  private members = 0;

  constructor(store: LockStore) {
    this.inbox = store.grants(this.instance, {
      granted: (grant) => this.grants.push(grant),
      opened: () => this.opened++,
      refused: () => (this.refused = true),
    });
  }

  member(): string {
    return `${this.instance}#${++this.members}`;
  }

  /** Opens the inbox; false when that is not possible. */
  async open(): Promise<boolean> {
    const before = this.opened;
    this.inbox.open();
    await until('the inbox is open', () => this.opened > before || this.refused || !this.inbox.usable);
    return this.inbox.usable && !this.refused;
  }

  /** The grant that was told n-th. */
  async told(n = 1): Promise<Grant> {
    await until('the grant is told', () => this.grants.length >= n);
    return this.grants[n - 1] ?? assert.fail();
  }

  /** Nothing but the first n grants is told. */
  async toldNoMoreThan(n: number): Promise<void> {
    await pause(100);
    assert.equal(this.grants.length, n, 'each grant is told once, to the client of the member, and nothing else');
  }
}
