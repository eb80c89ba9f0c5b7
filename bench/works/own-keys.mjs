import { sustain } from './sustained.mjs';
import { locks } from './takes.mjs';

/** @type {import('./index.mjs').Work} */
export const single = {
  name: 'single',
  title: 'One caller, a new key each time',
  takes: locks,
  run: (context) => sustain(context, 1, (_, turn) => `key:${turn}`),
};

/** @type {import('./index.mjs').Work} */
export const ownKeys = {
  name: 'own-keys',
  title: '64 callers of one process, each on a key of its own',
  takes: locks,
  run: (context) => sustain(context, 64, (caller) => `key:${caller}`),
};
