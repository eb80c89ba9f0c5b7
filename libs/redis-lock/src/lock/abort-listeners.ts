const listeners = new WeakMap<AbortSignal, Set<() => void>>();

/**
 * Calls back once when a signal aborts, and returns what takes that back. However many callers share a signal, it
 * carries one listener, so that Node does not take them for a leak.
 */
export function onAbort(signal: AbortSignal, callback: () => void): () => void {
  const callbacks = listeners.get(signal) ?? new Set();
  if (callbacks.size === 0) {
    const fire = (): void => {
      listeners.delete(signal);
      for (const each of callbacks) each();
    };
    signal.addEventListener('abort', fire, { once: true });
    listeners.set(signal, callbacks);
    removers.set(callbacks, () => signal.removeEventListener('abort', fire));
  }
  const own = (): void => callback();
  callbacks.add(own);
  return () => {
    if (!callbacks.delete(own) || callbacks.size > 0) return;
    removers.get(callbacks)?.();
    listeners.delete(signal);
  };
}

const removers = new WeakMap<Set<() => void>, () => void>();
