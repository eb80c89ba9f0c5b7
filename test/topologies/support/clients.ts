import { afterEach, beforeEach } from '@jest/globals';
import { createLockClient, type LockClient, type LockClientOptions } from 'nestjs-redis-lock';
import { uniquePrefix } from '../../support/redis.js';

/** Clients that end with their test, under a prefix of its own. */
export class Clients {
  prefix = '';
  /** What the clients of this test warned of. */
  readonly warnings: string[] = [];
  private readonly clients: LockClient[] = [];

  private constructor(private readonly connection: () => LockClientOptions['connection']) {}

  /** @param connection where a client goes unless it is told otherwise; asked when it is made. */
  static use(connection: () => LockClientOptions['connection']): Clients {
    const clients = new Clients(connection);
    beforeEach(() => {
      clients.prefix = uniquePrefix();
      clients.warnings.length = 0;
    });
    afterEach(async () => clients.close());
    return clients;
  }

  make(options: Partial<LockClientOptions> = {}): LockClient {
    const client = createLockClient({
      connection: this.connection(),
      prefix: this.prefix,
      shutdown: { drain: 0 },
      logger: { warn: (message) => this.warnings.push(message) },
      ...options,
    });
    this.clients.push(client);
    return client;
  }

  async close(): Promise<void> {
    await Promise.all(this.clients.splice(0).map(async (client) => client.close()));
  }
}
