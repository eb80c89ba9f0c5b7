import type { RedisConnection } from './redis-connection.js';

/** So many locks wait for replicas at once; a connection that waits answers nothing else. */
const SIZE = 8;

/** The connections on which locks wait for replicas, made as they are needed, so that no other lock waits with them. */
export class ReplicaPool {
  private readonly all: RedisConnection[] = [];
  private readonly idle: RedisConnection[] = [];
  private readonly queue: ((connection: RedisConnection) => void)[] = [];
  /** The most replicas that were connected at the same time. */
  private mostReplicas = 0;

  constructor(private readonly connect: () => RedisConnection) {}

  async use<T>(work: (connection: RedisConnection) => Promise<T>): Promise<T> {
    const connection = await this.take();
    try {
      return await work(connection);
    } finally {
      const next = this.queue.shift();
      if (next) next(connection);
      else this.idle.push(connection);
    }
  }

  /** How many replicas make a majority with the master, of those that have been seen so far. */
  async quorum(connection: RedisConnection, name: string): Promise<number> {
    this.mostReplicas = Math.max(this.mostReplicas, await connection.replicas(name));
    return Math.max(1, Math.ceil(this.mostReplicas / 2));
  }

  /** See {@link RedisConnection.retire}. */
  async retire(): Promise<void> {
    await Promise.all(this.all.map(async (connection) => connection.retire()));
  }

  async close(): Promise<void> {
    await Promise.all(this.all.map(async (connection) => connection.close()));
  }

  private take(): RedisConnection | Promise<RedisConnection> {
    const idle = this.idle.pop();
    if (idle) return idle;
    if (this.all.length >= SIZE) return new Promise((resolve) => this.queue.push(resolve));
    const connection = this.connect();
    this.all.push(connection);
    return connection;
  }
}
