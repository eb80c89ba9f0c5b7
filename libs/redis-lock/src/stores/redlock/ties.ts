/** What a member has under way; `over`: it has released the lock meanwhile, and nothing may be done in its name. */
export interface Tie {
  users: number;
  over: boolean;
}

/** Tells questions whose answers are still to come that their member has released the lock. */
export class Ties {
  private readonly ties = new Map<string, Tie>();

  tie(member: string): Tie {
    const known = this.ties.get(member);
    if (known) {
      known.users++;
      return known;
    }
    const tie = { users: 1, over: false };
    this.ties.set(member, tie);
    return tie;
  }

  untie(member: string, tie: Tie): void {
    if (--tie.users === 0 && !tie.over) this.ties.delete(member);
  }

  cut(member: string): void {
    const tie = this.ties.get(member);
    if (!tie) return;
    tie.over = true;
    this.ties.delete(member);
  }
}
