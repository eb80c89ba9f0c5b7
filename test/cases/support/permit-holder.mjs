// A process that takes one of two permits of the semaphore "pool" and keeps it.
import { createLockClient } from 'nestjs-redis-lock';

const { url, prefix, ttl } = JSON.parse(process.argv[2] ?? '{}');
const locks = createLockClient({ connection: url, prefix, logger: { warn() {} } });
await locks.semaphore('pool', { permits: 2 }).acquire({ ttl });
process.stdout.write(`${JSON.stringify({ event: 'holding' })}\n`);
process.stdin.resume();
