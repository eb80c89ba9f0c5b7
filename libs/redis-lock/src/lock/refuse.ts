import { inspect } from 'node:util';
import { LockArgumentError } from './lock.errors.js';

/** @throws LockArgumentError that names an option of a lock, what it is and what it must be. */
export function refuse(option: string, value: unknown, expected: string, lock: string): never {
  throw new LockArgumentError(
    `Lock "${lock}": option "${option}" is ${inspect(value, { depth: 0 })}, but must be ${expected}.`,
    lock,
  );
}
