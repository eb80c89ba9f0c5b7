import { RESERVED_TOKENS } from '../../libs/redis-lock/src/stores/lock-store.js';

/** What is known of one key. */
export class KeyRecord {
  lastToken = 0;
  /** When somebody meddled with it last. */
  meddledAt = -1;
  /** How many do so now. */
  meddling = 0;
  /** What looked broken while somebody meddled; each says what is broken in the light of what is known now. */
  readonly suspicions: ((record: KeyRecord) => string | false)[] = [];
  /** Nobody may get it before, in ms by the clock of the store; `token`: who released it. */
  rest: { readonly token: number; readonly until: number } | undefined;
  private readonly doomed: number[] = [];

  /** The lock of this token is taken away: its holder, or whom it was handed over to, may still believe in it. */
  doom(token: number): void {
    this.doomed.push(token);
  }

  isDoomed(token: number): boolean {
    return this.doomed.some((first) => token >= first && token <= first + RESERVED_TOKENS);
  }

  /** What is broken for sure, now that nobody meddles. */
  broken(): string[] {
    if (this.meddling > 0) return [];
    return this.suspicions.splice(0).flatMap((rule) => rule(this) || []);
  }
}
