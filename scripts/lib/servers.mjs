// Private servers for tests, demo and benchmarks.
export { findFaketime, findMariadb, findRedisServer, findValkeyServer } from './find-binary.mjs';
export { freePort } from './free-port.mjs';
export { MariadbServer, startMariadb } from './mariadb-server.mjs';
export { RedisServer, startRedis } from './redis-server.mjs';
