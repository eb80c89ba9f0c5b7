import type { HeldReply } from '../lock-store.js';

/** The answers of nodes about the holder that most of them name. */
export function mostNamed(answers: readonly HeldReply[]): HeldReply[] {
  const byHolder = new Map<string, HeldReply[]>();
  let most: HeldReply[] = [];
  for (const answer of answers) {
    const name = `${answer.holder}/${answer.token}`;
    const same = byHolder.get(name) ?? [];
    byHolder.set(name, same);
    same.push(answer);
    if (same.length > most.length) most = same;
  }
  return most;
}

/** One answer of several nodes about one holder: it stands until `needed` of them are free. */
export function heldBy(answers: readonly HeldReply[], needed: number): HeldReply {
  const sorted = [...answers].sort((a, b) => a.remainingMs - b.remainingMs);
  const last = sorted[Math.min(sorted.length, Math.max(1, needed)) - 1] as HeldReply;
  return { ...last, queued: Math.max(...answers.map(({ queued }) => queued)) };
}
