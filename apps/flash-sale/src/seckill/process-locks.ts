import type { Provider } from '@nestjs/common';
import { createLockClient } from 'nestjs-redis-lock';

export const PROCESS_LOCKS = Symbol('PROCESS_LOCKS');

/** Locks that live in the memory of this process, for the route that shows why this is not enough. */
export const processLocksProvider: Provider = {
  provide: PROCESS_LOCKS,
  useFactory: () => createLockClient({ store: 'memory' }),
};
