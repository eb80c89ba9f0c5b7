import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Redis } from 'ioredis';
import { waitFor } from '../support/wait-for.js';

export type ScriptTexts = Readonly<Record<'acquire' | 'release' | 'renew' | 'inspect', string>>;

/** The scripts as version 0.1 sent them. Never changed: the next layout gets a folder of its own beside them. */
export const SCRIPTS_0_1: ScriptTexts = {
  acquire: frozen('acquire'),
  release: frozen('release'),
  renew: frozen('renew'),
  inspect: frozen('inspect'),
};

function frozen(name: string): string {
  return readFileSync(new URL(`./scripts-0.1/${name}.lua`, import.meta.url), 'utf8');
}

/** What another process of version 0.1 says to Redis and hears from it. It uses nothing of this library. */
export class FrozenClient {
  readonly instance = `old-host-1-${randomBytes(16).toString('hex')}`;
  /** `<token> <member> <name of the lock>`, as they came. */
  readonly messages: string[] = [];
  private members = 0;

  private constructor(
    private readonly redis: Redis,
    private readonly inbox: Redis,
    private readonly prefix: string,
    private readonly scripts: ScriptTexts,
    private readonly slot: string,
  ) {}

  /**
   * @param scripts others than those of 0.1, to compare what they do.
   * @param slot what the name of the counter ends with on a Cluster: `:{<tag of the slot>}`.
   */
  static async connect(url: string, prefix: string, scripts = SCRIPTS_0_1, slot = ''): Promise<FrozenClient> {
    const client = new FrozenClient(new Redis(url), new Redis(url), prefix, scripts, slot);
    client.inbox.on('message', (_, message: string) => message && client.messages.push(message));
    await client.inbox.subscribe(`${prefix}:inbox:${client.instance}`);
    return client;
  }

  nextMember(): string {
    return `${this.instance}#${++this.members}`;
  }

  nameOf(key: string): string {
    return `${this.prefix}:{${key}}`;
  }

  /**
   * @param arrival a member that queues: its place, '0' for a new one.
   * @param mark '!' for a member whose inbox cannot be counted.
   */
  async acquire(key: string, member: string, leaseMs: number, arrival?: string, mark = ''): Promise<unknown[]> {
    const notAfter = (Date.now() + 60_000) * 1_000;
    return this.eval('acquire', key, [member, leaseMs, notAfter, ...(arrival === undefined ? [] : [arrival, mark])]);
  }

  /** @param token '' for whatever the member has. */
  async release(
    key: string,
    member: string,
    token: string,
    minHoldMs = 0,
    successor?: { member: string; leaseMs: number },
  ): Promise<unknown[]> {
    const next = successor ? [successor.member, successor.leaseMs, '0', ''] : [];
    return this.eval('release', key, [member, token, minHoldMs, ...next]);
  }

  async renew(key: string, owner: string, leaseMs: number): Promise<number> {
    return (await this.redis.eval(this.scripts.renew, 1, this.nameOf(key), owner, leaseMs)) as number;
  }

  async inspect(key: string): Promise<unknown[] | null> {
    const name = this.nameOf(key);
    return (await this.redis.eval(this.scripts.inspect, 2, name, `${name}:queue`)) as unknown[] | null;
  }

  /** Waits as 0.1 does: told by a message, asks again now and then, confirms what it was granted. Returns the token. */
  async wait(key: string, member: string, leaseMs: number): Promise<string> {
    let arrival = '0';
    let asked = -Infinity;
    return waitFor(
      async () => {
        const token = this.grantTo(member);
        if (token) return (await this.renew(key, `${member}/${token}`, leaseMs)) > 0 && token;
        if (performance.now() - asked < 500) return undefined;
        asked = performance.now();
        const answer = await this.acquire(key, member, leaseMs, arrival);
        if (answer[0] === 'held') {
          arrival = String(answer[4]);
          return undefined;
        }
        const own = String(answer[1]);
        // The fourth says that it is a grant.
        return answer[3] && (await this.renew(key, `${member}/${own}`, leaseMs)) < 0 ? undefined : own;
      },
      { timeoutMs: 30_000, what: `${member} obtains ${key}` },
    );
  }

  /** The token of a grant that this member was told of. */
  grantTo(member: string): string | undefined {
    const message = this.messages.findLast((each) => each.split(' ')[1] === member);
    return message?.split(' ')[0];
  }

  close(): void {
    this.redis.disconnect();
    this.inbox.disconnect();
  }

  private async eval(script: 'acquire' | 'release', key: string, args: (string | number)[]): Promise<unknown[]> {
    const name = this.nameOf(key);
    const keys = [name, `${name}:queue`, `${this.prefix}:fence${this.slot}`];
    return (await this.redis.eval(this.scripts[script], 3, ...keys, ...args)) as unknown[];
  }
}
