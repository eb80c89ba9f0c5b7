export interface AppConfig {
  readonly redisUrl: string;
  /** In front of every key that this app writes to Redis: its locks and its stock. */
  readonly redisPrefix: string;
  /** `mysql://user:password@host:port/database`, MariaDB or MySQL. */
  readonly databaseUrl: string;
  /** 0: any free port. */
  readonly port: number;
}

export function readConfig(env: NodeJS.ProcessEnv = process.env): AppConfig {
  return {
    redisUrl: env.REDIS_URL ?? 'redis://127.0.0.1:6379',
    redisPrefix: env.REDIS_PREFIX ?? 'flash-sale',
    databaseUrl: env.DATABASE_URL ?? 'mysql://root@127.0.0.1:3306/flash_sale',
    port: portOf(env.PORT ?? '3000'),
  };
}

function portOf(text: string): number {
  const port = Number(text);
  if (/^\d+$/.test(text) && port <= 65_535) return port;
  throw new Error(`PORT is ${JSON.stringify(text)}, but must be a number from 0 to 65535`);
}
