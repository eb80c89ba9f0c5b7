import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import { constants, setPriority } from 'node:os';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { waitFor } from '../../support/wait-for.js';

export interface Said {
  readonly event: string;
  readonly [detail: string]: unknown;
}

/** A process of its own that uses the built package: one of the scripts beside this file, which says what it does. */
export class ChildProcess {
  /** Everything that it said, in its order. */
  readonly events: Said[] = [];
  errors = '';
  private readonly exited: Promise<unknown[]>;

  private constructor(private readonly child: ChildProcessByStdio<Writable, Readable, Readable>) {
    createInterface({ input: child.stdout }).on('line', (line) => this.events.push(JSON.parse(line) as Said));
    child.stderr.on('data', (chunk: Buffer) => (this.errors += chunk.toString()));
    this.exited = once(child, 'close');
  }

  static start(script: string, config: object): ChildProcess {
    const path = resolve(dirname(fileURLToPath(import.meta.url)), script);
    // Nothing of Jest's own flags, such as its module loader.
    const env = { ...process.env, NODE_OPTIONS: '' };
    return new ChildProcess(
      spawn(process.execPath, [path, JSON.stringify(config)], { env, stdio: ['pipe', 'pipe', 'pipe'] }),
    );
  }

  /** Waits until it has said this. */
  async said(event: string): Promise<Said> {
    const said = (): Said | undefined => this.events.find((each) => each.event === event);
    const ended = (): boolean => this.child.exitCode !== null || this.child.signalCode !== null;
    await waitFor(() => said() ?? ended(), { timeoutMs: 30_000, what: `the process says "${event}"` });
    const found = said();
    if (!found) throw new Error(`The process ended before it said "${event}": ${this.errors}`);
    return found;
  }

  /** Lets other processes go first, such as the test beside it. */
  yieldToOthers(): void {
    if (this.child.pid !== undefined) setPriority(this.child.pid, constants.priority.PRIORITY_BELOW_NORMAL);
  }

  /** Tells it a line. */
  tell(line: string): void {
    this.child.stdin.write(`${line}\n`);
  }

  kill(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }

  /** Waits for its end. */
  async exit(): Promise<{ code: number | null; signal: string | null }> {
    const [code, signal] = await this.exited;
    return { code: code as number | null, signal: signal as string | null };
  }
}
