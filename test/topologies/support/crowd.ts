import { setTimeout as pause } from 'node:timers/promises';
import { isLockError, type LockClient, type LockError } from 'nestjs-redis-lock';
import { waitFor } from '../../support/wait-for.js';

/** What one caller had a lock for. */
interface Stay {
  readonly token: number;
  readonly lost: boolean;
}

/** Callers of several clients that want the same keys again and again, and write down what they got. */
export class Crowd {
  /** By key, in the order in which the work under them ended. */
  readonly stays = new Map<string, Stay[]>();
  readonly errors: LockError[] = [];
  /** How often somebody worked while another one who had not lost the lock did. */
  overlaps = 0;
  private readonly inside = new Map<string, number>();
  private stopped = false;
  private readonly callers: Promise<void>[];

  constructor(clients: readonly LockClient[], keys: readonly string[], callersEach: number) {
    const places = clients.flatMap((client) => keys.map((key) => ({ client, key })));
    this.callers = places.flatMap(({ client, key }) =>
      Array.from({ length: callersEach }, async () => this.call(client, key)),
    );
  }

  get total(): number {
    return [...this.stays.values()].reduce((sum, { length }) => sum + length, 0);
  }

  /** Waits until so many more stays than now have ended, of each key. */
  async more(count: number, timeoutMs = 30_000): Promise<void> {
    const before = new Map([...this.stays].map(([key, { length }]) => [key, length]));
    const went = (): boolean => [...this.stays].every(([key, { length }]) => length >= (before.get(key) ?? 0) + count);
    await waitFor(() => this.stays.size > 0 && went(), { timeoutMs, what: `${count} more stays of each key` });
  }

  async stop(): Promise<void> {
    this.stopped = true;
    await Promise.all(this.callers);
  }

  /** How often a token did not grow from one stay to the next of the same key; those that were lost do not count. */
  get outOfOrder(): number {
    let count = 0;
    for (const stays of this.stays.values()) {
      const tokens = stays.filter(({ lost }) => !lost).map(({ token }) => token);
      count += tokens.filter((token, index) => index > 0 && token <= (tokens[index - 1] ?? 0)).length;
    }
    return count;
  }

  private async call(client: LockClient, key: string): Promise<void> {
    if (!this.stays.has(key)) this.stays.set(key, []);
    while (!this.stopped) {
      try {
        await client.run(key, async (lock) => {
          if ((this.inside.get(key) ?? 0) > 0 && lock.held) this.overlaps++;
          this.inside.set(key, (this.inside.get(key) ?? 0) + 1);
          await pause(2);
          this.inside.set(key, (this.inside.get(key) ?? 0) - 1);
          this.stays.get(key)?.push({ token: lock.fencingToken, lost: lock.lost !== undefined });
        });
      } catch (error) {
        if (!isLockError(error)) throw error;
        this.errors.push(error);
        await pause(20);
      }
    }
  }
}
