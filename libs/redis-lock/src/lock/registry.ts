/**
 * Values by name, for what comes and goes with every lock: a `Map` that does not keep what was taken out of it. See
 * {@link Chain} for why a plain one would.
 */
export class Registry<V extends object> {
  private readonly slots = new Map<string, { value: V | undefined }>();

  get(name: string): V | undefined {
    return this.slots.get(name)?.value;
  }

  set(name: string, value: V): void {
    this.slots.set(name, { value });
  }

  delete(name: string): void {
    const slot = this.slots.get(name);
    if (!slot) return;
    slot.value = undefined;
    this.slots.delete(name);
  }

  *values(): Generator<V> {
    for (const { value } of this.slots.values()) if (value) yield value;
  }
}
