import { rmSync } from 'node:fs';
import { findFaketime } from './find-binary.mjs';

/**
 * The environment in which a server's wall clock is off. Not through the program `faketime`: the process that we start
 * is to be the server itself.
 *
 * @param {string} offset such as `+30s`
 */
export function clockOffsetEnv(offset) {
  const library = findFaketime();
  if (!library) throw new Error('There is no libfaketime here: run node scripts/setup.mjs --test-servers');
  return {
    // libc's malloc is to win over jemalloc's, which asks for the time before libfaketime can tell it, for ever.
    LD_PRELOAD: `${library}:libc.so.6`,
    FAKETIME: offset,
    FAKETIME_DONT_FAKE_MONOTONIC: '1',
  };
}

/**
 * libfaketime shares memory with programs that the server might start. It starts none, and would leave the names
 * behind when it is killed.
 *
 * @param {number | undefined} pid of a server that runs
 */
export function forgetSharedClock(pid) {
  for (const name of [`faketime_shm_${pid}`, `sem.faketime_sem_${pid}`]) rmSync(`/dev/shm/${name}`, { force: true });
}
