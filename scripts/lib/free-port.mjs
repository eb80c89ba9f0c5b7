import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * A port of 127.0.0.1 at which nobody listens just now; whoever uses it must be ready to find it taken.
 *
 * It lies below the ports that systems give to outgoing connections (Linux 32768, macOS 49152): a client that dials
 * a dead server of that range again and again ends up connected to itself, and then the server cannot come back.
 */
export async function freePort() {
  for (;;) {
    const port = randomInt(20_000, 32_000);
    const probe = createServer().listen(port, '127.0.0.1');
    try {
      await once(probe, 'listening');
      return port;
    } catch {
      // taken: try another one
    } finally {
      probe.close();
    }
  }
}
