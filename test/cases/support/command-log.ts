import type { Redis } from 'ioredis';
import { acquireScript } from '../../../libs/redis-lock/src/stores/redis/scripts/acquire.js';
import { inspectScript } from '../../../libs/redis-lock/src/stores/redis/scripts/inspect.js';
import { releaseScript } from '../../../libs/redis-lock/src/stores/redis/scripts/release.js';
import { renewScript } from '../../../libs/redis-lock/src/stores/redis/scripts/renew.js';
import { waitFor } from '../../support/wait-for.js';

export type ScriptName = 'acquire' | 'inspect' | 'release' | 'renew';

export interface ScriptCall {
  readonly script: ScriptName;
  /** The whole command, fit to be sent again. */
  readonly command: readonly string[];
  readonly args: readonly string[];
}

const names = new Map<string, ScriptName>([
  [acquireScript.sha, 'acquire'],
  [inspectScript.sha, 'inspect'],
  [releaseScript.sha, 'release'],
  [renewScript.sha, 'renew'],
]);

/** What a Redis was told to do, in its order, by MONITOR. */
export class CommandLog {
  private readonly commands: string[][] = [];
  private echoes = 0;

  private constructor(
    private readonly redis: Redis,
    private readonly monitor: Redis,
  ) {
    monitor.on('monitor', (_time: string, command: string[], source: string) => {
      // What a script does in its turn is not a command of a client.
      if (source !== 'lua') this.commands.push(command);
    });
  }

  static async start(redis: Redis): Promise<CommandLog> {
    return new CommandLog(redis, await redis.monitor());
  }

  /** The scripts that were called until now; it returns when the log is sure to be complete. */
  async calls(): Promise<ScriptCall[]> {
    const echo = `log-${++this.echoes}`;
    await this.redis.echo(echo);
    await waitFor(() => this.commands.some(([name, text]) => name?.toLowerCase() === 'echo' && text === echo));
    return this.commands.flatMap((command) => {
      const script = command[0]?.toLowerCase() === 'evalsha' ? names.get(command[1] ?? '') : undefined;
      return script ? [{ script, command, args: command.slice(3 + Number(command[2])) }] : [];
    });
  }

  async count(script: ScriptName): Promise<number> {
    return (await this.calls()).filter((call) => call.script === script).length;
  }

  async scripts(): Promise<ScriptName[]> {
    return (await this.calls()).map(({ script }) => script);
  }

  stop(): void {
    this.monitor.disconnect();
  }
}
