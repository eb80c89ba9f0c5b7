import type { Redis } from 'ioredis';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { acquireScript } from '../../../libs/redis-lock/src/stores/redis/scripts/acquire.js';
import { inspectScript } from '../../../libs/redis-lock/src/stores/redis/scripts/inspect.js';
import { releaseScript } from '../../../libs/redis-lock/src/stores/redis/scripts/release.js';
import { renewScript } from '../../../libs/redis-lock/src/stores/redis/scripts/renew.js';
import { shareAcquireScript } from '../../../libs/redis-lock/src/stores/redis/scripts/share-acquire.js';
import { shareReleaseScript } from '../../../libs/redis-lock/src/stores/redis/scripts/share-release.js';
import { shareRenewScript } from '../../../libs/redis-lock/src/stores/redis/scripts/share-renew.js';
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
  [shareAcquireScript.sha, 'acquire'],
  [shareReleaseScript.sha, 'release'],
  [shareRenewScript.sha, 'renew'],
]);

/** `+1339518083.107412 [0 127.0.0.1:60866] "evalsha" "…"`; what a script does in its turn has `lua` for an address. */
const MONITORED = /^\+[\d.]+ \[(?<db>\d+) (?<source>\S+)\] (?<command>".*")$/;

/** What a Redis was told to do, in its order, by MONITOR. Its own socket: ioredis' monitor breaks while others are busy. */
export class CommandLog {
  private readonly commands: { source: string | undefined; command: string[] }[] = [];
  private echoes = 0;

  private constructor(
    private readonly redis: Redis,
    private readonly socket: Socket,
  ) {
    createInterface({ input: socket }).on('line', (line) => {
      const { source, command } = MONITORED.exec(line)?.groups ?? {};
      if (command && source !== 'lua') this.commands.push({ source, command: quoted(command) });
    });
  }

  static async start(redis: Redis): Promise<CommandLog> {
    const socket = connect(redis.options.port ?? 0, '127.0.0.1');
    await once(socket, 'connect');
    const log = new CommandLog(redis, socket);
    socket.write('MONITOR\r\n');
    await log.complete();
    return log;
  }

  /** The scripts that were called until now. */
  async calls(): Promise<ScriptCall[]> {
    await this.complete();
    return this.commands.flatMap(({ command }) => {
      const script = command[0]?.toLowerCase() === 'evalsha' ? names.get(command[1] ?? '') : undefined;
      return script ? [{ script, command, args: command.slice(3 + Number(command[2])) }] : [];
    });
  }

  async scripts(): Promise<ScriptName[]> {
    return (await this.calls()).map(({ script }) => script);
  }

  async count(script: ScriptName): Promise<number> {
    return (await this.scripts()).filter((name) => name === script).length;
  }

  /** The names of all commands until now, in lower case. */
  async names(): Promise<(string | undefined)[]> {
    await this.complete();
    return this.commands.map(({ command }) => command[0]?.toLowerCase());
  }

  /** What came over the connection that a client has now. */
  async sentBy(redis: Redis): Promise<string[][]> {
    await this.complete();
    const { localPort } = redis.stream;
    return this.commands.filter(({ source }) => source === `127.0.0.1:${localPort}`).map(({ command }) => command);
  }

  stop(): void {
    this.socket.destroy();
  }

  /** Returns when everything that Redis has done until now is in the log. */
  private async complete(): Promise<void> {
    await waitFor(async () => {
      const echo = `log-${++this.echoes}`;
      await this.redis.echo(echo);
      return this.commands.findLast(({ command }) => command[1] === echo);
    });
  }
}

function quoted(text: string): string[] {
  return [...text.matchAll(/"((?:[^"\\]|\\.)*)"/g)].map(([, word = '']) =>
    word.replace(/\\(x[\da-f]{2}|.)/g, (_, escape: string) =>
      escape.length > 1
        ? String.fromCharCode(parseInt(escape.slice(1), 16))
        : ({ n: '\n', r: '\r', t: '\t' }[escape] ?? escape),
    ),
  );
}
