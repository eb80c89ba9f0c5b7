export default async function stopSharedRedis() {
  await /** @type {import('./start-shared-redis.mjs').Shared} */ (globalThis).sharedRedis?.stop();
}
