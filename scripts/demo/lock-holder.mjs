// A process of its own that takes a lock, keeps it by renewal, and never gives it back.
import { createLockClient } from 'nestjs-redis-lock';

const { REDIS_URL = '', LOCK_PREFIX = '', LOCK_KEY = '', LOCK_TTL = '' } = process.env;
const locks = createLockClient({ connection: REDIS_URL, prefix: LOCK_PREFIX });
await locks.acquire(LOCK_KEY, { ttl: Number(LOCK_TTL) });
process.stdout.write('held\n');
