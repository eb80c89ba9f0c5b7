import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { waitFor } from '../../support/wait-for.js';

/** Which keys Redis was asked for, by MONITOR. On a socket of its own: ioredis' monitor breaks while others are busy. */
export class AskedKeys {
  private readonly commands: string[] = [];

  private constructor(private readonly socket: Socket) {
    createInterface({ input: socket }).on('line', (line) => this.commands.push(line));
  }

  /** Sees every command that comes after this has returned. */
  static async watch(url: string): Promise<AskedKeys> {
    const { hostname, port, username, password } = new URL(url);
    const socket = connect(Number(port || 6379), hostname);
    await once(socket, 'connect');
    const asked = new AskedKeys(socket);
    if (password) socket.write(`AUTH ${username || 'default'} ${decodeURIComponent(password)}\r\n`);
    socket.write('MONITOR\r\n');
    await waitFor(() => asked.commands.filter((line) => line === '+OK').length === (password ? 2 : 1));
    return asked;
  }

  /** Waits until a script was sent for the key. */
  async untilAsked(redisKey: string): Promise<void> {
    await waitFor(() => this.commands.some((line) => /"eval(sha)?"/i.test(line) && line.includes(`"${redisKey}"`)), {
      what: `Redis is asked for ${redisKey}`,
    });
  }

  close(): void {
    this.socket.destroy();
  }
}
