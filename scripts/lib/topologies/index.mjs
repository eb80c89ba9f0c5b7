// Groups of private servers, for tests.
export { startCluster } from './cluster.mjs';
export { startNodes } from './nodes.mjs';
export { startSentinelGroup } from './sentinel.mjs';
