import fc, { type IAsyncProperty, type Parameters } from 'fast-check';

/** What one run may take, in ms. */
const RUN_MS = 10_000;

/** How often a property is tried; PROPERTY_RUNS says otherwise, and PROPERTY_SEED and PROPERTY_PATH repeat a failure. */
export function runs<T>(usual: number): Parameters<T> {
  const { PROPERTY_SEED, PROPERTY_PATH } = process.env;
  return {
    numRuns: countOf(usual),
    ...(PROPERTY_SEED ? { seed: Number(PROPERTY_SEED) } : {}),
    ...(PROPERTY_PATH ? { path: PROPERTY_PATH } : {}),
    // A failure is made smaller until then.
    interruptAfterTimeLimit: countOf(usual) * RUN_MS,
  };
}

/** How a property was violated, with the seed and the path that repeat it; undefined when it held. */
export async function violation<T>(
  property: IAsyncProperty<T>,
  parameters: Parameters<T>,
): Promise<string | undefined> {
  const details = await fc.check(property, parameters);
  if (!details.failed) return undefined;
  const { message } = details.errorInstance as Error;
  return `${fc.defaultReportMessage(details)}\n${message}`;
}

/** What the test may take, in ms. */
export function timeoutOf(usual: number): number {
  return 2 * countOf(usual) * RUN_MS;
}

function countOf(usual: number): number {
  return Number(process.env.PROPERTY_RUNS ?? usual);
}
