/**
 * A timer that lets what has arrived in the meantime be read first: after a stall of the event loop, timers run before
 * the answers that wait in the sockets.
 */
export function setPatientTimeout(callback: () => void, ms: number): NodeJS.Timeout {
  return setTimeout(() => setImmediate(callback), ms);
}

/**
 * The promise's outcome, or after `ms` the rejection that `late` makes. The promise itself goes on; who needs its late
 * outcome keeps it.
 */
export function withTimeout<T>(promise: Promise<T>, ms: number, late: () => Error): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const timer = setPatientTimeout(() => reject(late()), ms);
    promise.then(
      (value) => {
        clearTimeout(timer);
        resolve(value);
      },
      (error: Error) => {
        clearTimeout(timer);
        reject(error);
      },
    );
  });
}
