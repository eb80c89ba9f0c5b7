/**
 * The promise's outcome, or after `ms` the rejection that `late` makes. The promise itself goes on; who needs its late
 * outcome keeps it.
 */
export async function withTimeout<T>(promise: Promise<T>, ms: number, late: () => Error): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  try {
    return await Promise.race([
      promise,
      new Promise<never>((_, reject) => (timer = setTimeout(() => reject(late()), ms))),
    ]);
  } finally {
    clearTimeout(timer);
  }
}
