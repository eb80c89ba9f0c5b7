import { once } from 'node:events';
import { createServer } from 'node:net';
import { freePort } from '../free-port.mjs';
import { startRedis } from '../redis-server.mjs';

const busOffset = 10_000;
const attempts = 5;

/** @param {number} port */
async function isFree(port) {
  const probe = createServer().listen(port, '127.0.0.1');
  try {
    await once(probe, 'listening');
    return true;
  } catch {
    return false;
  } finally {
    probe.close();
  }
}

/** A free port, with a free one for the bus that also lies below those of outgoing connections: see `freePort`. */
async function freePortPair() {
  for (;;) {
    const port = await freePort();
    if (port + busOffset < 32_768 && (await isFree(port + busOffset))) return port;
  }
}

/** @param {Omit<import('../redis-server.mjs').StartRedisOptions, 'port'>} options */
export async function startClusterNode({ args = [], ...options }) {
  const own = '--cluster-enabled yes --cluster-node-timeout 1500 --cluster-require-full-coverage yes';
  const diskless = '--repl-diskless-sync yes --repl-diskless-sync-delay 0';
  for (let attempt = 1; ; attempt++) {
    const port = await freePortPair();
    try {
      return await startRedis({ ...options, port, args: [...`${own} ${diskless}`.split(' '), ...args] });
    } catch (error) {
      if (attempt === attempts || !/address already in use/i.test(String(error))) throw error;
    }
  }
}
