import type { ContenderParts } from './contender.js';
import { LocalGate } from './local-gate.js';
import { Registry } from './registry.js';

/** The gates of a client, by key, as long as anybody uses them. */
export class LockGates {
  private readonly gates = new Registry<LocalGate>();

  /** @param shared false: a gate of its own for each caller, so that nobody waits for anybody. */
  constructor(
    private readonly parts: ContenderParts,
    private readonly shared: boolean,
  ) {}

  of(key: string): LocalGate {
    const known = this.gates.get(key);
    if (known) return known;
    const gate = new LocalGate(key, this.parts, this);
    if (this.shared) this.gates.set(key, gate);
    return gate;
  }

  idle(key: string, gate: LocalGate): void {
    if (this.gates.get(key) === gate) this.gates.delete(key);
  }
}
