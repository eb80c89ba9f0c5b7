/** What one member has of a key. */
export interface Hold {
  /** Undefined while the key rests until `minHold` is over. */
  readonly member: string | undefined;
  readonly token: number;
  /** When the lease ends. */
  readonly expiresAt: number;
  /** Of a grant that is not confirmed: when it is void, which is before its lease ends. */
  readonly voidAt?: number;
}

/** The locks that are held. One that has ended is gone, whether or not anybody asks for it. */
export class MemoryHolds {
  private readonly entries = new Map<string, Hold & { readonly timer: NodeJS.Timeout }>();

  /** @param lapsed told of a grant that nobody confirmed, when it is removed. */
  constructor(private readonly lapsed: (key: string, member: string | undefined) => void) {}

  find(key: string): Hold | undefined {
    const hold = this.entries.get(key);
    if (!hold || endOf(hold) > Date.now()) return hold;
    this.remove(key);
    if (hold.voidAt !== undefined) this.lapsed(key, hold.member);
    return undefined;
  }

  /** Takes the place of what was there. */
  put(key: string, hold: Hold): void {
    this.remove(key);
    const timer = setTimeout(() => this.find(key), endOf(hold) - Date.now() + 1);
    timer.unref();
    this.entries.set(key, { ...hold, timer });
  }

  remove(key: string): void {
    clearTimeout(this.entries.get(key)?.timer);
    this.entries.delete(key);
  }

  clear(): void {
    for (const { timer } of this.entries.values()) clearTimeout(timer);
    this.entries.clear();
  }
}

/** From when on a hold is none any more. */
export function endOf({ expiresAt, voidAt }: Hold): number {
  return voidAt ?? expiresAt;
}
