import type { Redis } from 'ioredis';
import { waitFor } from '../support/wait-for.js';

export interface LoggedCommand {
  /** By the clock of the server, in ms. */
  readonly at: number;
  readonly command: readonly string[];
  /** The address of the client. */
  readonly source: string;
}

/** What the clients of a Redis told it and when, by MONITOR. Start it while nothing is under way. */
export class ServerLog {
  readonly commands: LoggedCommand[] = [];
  private echoes = 0;

  private constructor(
    private readonly redis: Redis,
    private readonly monitor: Redis,
  ) {
    monitor.on('monitor', (time: string, command: string[], source: string) => {
      if (source !== 'lua') this.commands.push({ at: Number(time) * 1000, command, source });
    });
  }

  static async start(redis: Redis): Promise<ServerLog> {
    return new ServerLog(redis, await redis.monitor());
  }

  /** The scripts that were called for a lock until now; it returns when the log is sure to be complete. */
  async ofKey(redisKey: string): Promise<LoggedCommand[]> {
    const mark = `log-${++this.echoes}`;
    await this.redis.echo(mark);
    await waitFor(() => this.commands.some(({ command }) => command[1] === mark));
    return this.commands.filter(({ command }) => command[3] === redisKey);
  }

  /** The calls of one script among them. */
  async calls({ sha }: { sha: string }, redisKey: string): Promise<LoggedCommand[]> {
    return (await this.ofKey(redisKey)).filter(({ command }) => command[1] === sha);
  }

  [Symbol.dispose](): void {
    this.monitor.disconnect();
  }
}

/** The pauses between commands, in ms. */
export function gapsOf(commands: readonly LoggedCommand[]): number[] {
  return commands.slice(1).map(({ at }, index) => at - (commands[index]?.at ?? 0));
}
