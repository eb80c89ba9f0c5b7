import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

export const bench = dirname(dirname(fileURLToPath(import.meta.url)));
export const root = dirname(bench);

/** @typedef {ReturnType<typeof readOptions>} Options */

/** What the command line asks for. */
export function readOptions() {
  const { values } = parseArgs({
    options: {
      json: { type: 'boolean', default: false },
      quick: { type: 'boolean', default: false },
      only: { type: 'string' },
      competitors: { type: 'string' },
      lib: { type: 'string' },
      out: { type: 'string' },
      'no-write': { type: 'boolean', default: false },
      retry: { type: 'string' },
    },
  });
  const retryMs = values.retry === undefined ? undefined : Number(values.retry);
  if (retryMs !== undefined && !(retryMs >= 1))
    throw new Error(`--retry is "${values.retry}", but must be milliseconds`);
  // The page is about a whole run: a part of one replaces it only when somebody says where.
  const whole = [values.only, values.competitors, retryMs].every((value) => value === undefined) && !values.quick;
  const page = values.out ?? (whole ? join(root, 'docs/benchmark.md') : undefined);
  return {
    json: values.json,
    quick: values.quick,
    only: list(values.only),
    among: list(values.competitors),
    lib: values.lib === undefined ? join(root, 'libs/redis-lock') : resolve(values.lib),
    ownLib: values.lib === undefined,
    page: values['no-write'] || page === undefined ? undefined : resolve(page),
    retryMs,
  };
}

/** @param {string | undefined} text */
function list(text) {
  return text?.split(',').map((name) => name.trim());
}
