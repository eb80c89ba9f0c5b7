import type { Share } from '../stores/lock-store.js';
import type { ContenderParts } from './contender.js';
import { LocalGate } from './local-gate.js';
import { Registry } from './registry.js';

/** The gates of a client, by key, as long as anybody uses them. */
export class LockGates {
  private readonly gates = new Registry<LocalGate>();
  /** Of locks with shares. */
  private readonly shared = new Registry<LocalGate>();

  /** @param meet false: a gate of its own for each caller, so that nobody waits for anybody. */
  constructor(
    private readonly parts: ContenderParts,
    private readonly meet: boolean,
  ) {}

  of(key: string, share: Share | undefined): LocalGate {
    const gates = share ? this.shared : this.gates;
    const known = gates.get(key);
    if (known) return known;
    const gate = new LocalGate(key, this.parts, this);
    if (this.meet) gates.set(key, gate);
    return gate;
  }

  /** All who wait for a lock with shares ask once more. */
  askAgain(key: string): void {
    this.shared.get(key)?.askAround();
  }

  idle(key: string, gate: LocalGate): void {
    for (const gates of [this.gates, this.shared]) if (gates.get(key) === gate) gates.delete(key);
  }
}
