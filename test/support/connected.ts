import type { LockClient } from 'nestjs-redis-lock';
import { waitFor } from './wait-for.js';

/** Waits until a client is connected and has nothing under way, however busy the machine is. */
export async function connected(client: LockClient): Promise<void> {
  const answers = async (): Promise<boolean> =>
    client.isLocked('connected').then(
      () => true,
      () => false,
    );
  await waitFor(answers, { timeoutMs: 30_000 });
}
