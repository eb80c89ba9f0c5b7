import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import * as library from 'nestjs-redis-lock';
import { createLockClient, DEFAULTS, LockError } from 'nestjs-redis-lock';
import { startRedis } from '../scripts/lib/servers.mjs';
import { anchors, codeBlocks, links, sections, tableRows } from './docs/markdown.js';
import { typeCheck } from './docs/type-check.js';
import { describeWithRedisServer, newRedis } from './support/redis.js';

const root = join(import.meta.dirname, '..');
const npmPage = 'libs/redis-lock/README.md';
const broken = 'test/docs/broken.md';
const pages = [
  'README.md',
  npmPage,
  ...readdirSync(join(root, 'docs')).map((name) => `docs/${name}`),
  'CHANGELOG.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
];

const read = (page: string): string => readFileSync(join(root, page), 'utf8');
const readme = sections(read('README.md'));

function section(title: string): string {
  const text = readme.get(title);
  if (text === undefined) throw new Error(`README.md has no section "${title}"`);
  return text;
}

/** The text in backticks of a cell, or the cell. */
const plain = (cell = ''): string => /`(.+?)`/.exec(cell)?.[1] ?? cell;

describe('code blocks', () => {
  const blocks = [...pages, broken].flatMap((page) => codeBlocks(page, read(page)));
  const problems = typeCheck(blocks.filter(({ language }) => language === 'ts'));

  it('are TypeScript that compiles, or marked as something else', () => {
    expect(problems.filter(({ at }) => !at.startsWith(broken))).toEqual([]);
    const languages = new Set(blocks.map(({ language }) => language));
    expect([...languages].sort()).toEqual(['mermaid', 'sh', 'text', 'ts']);
  });

  it.each(['README.md', npmPage, 'docs/choosing.md'])('were found in %s', (page) => {
    const found = blocks.filter((block) => block.page === page && block.language === 'ts');
    expect(found).toHaveLength(read(page).match(/```(?:[jt]sx?|javascript|typescript)\b/g)?.length ?? 0);
    expect(found.length).toBeGreaterThan(2);
  });

  it('that are wrong are found, each at its line', () => {
    const lineOf = (text: string): string => `${broken}:${read(broken).split('\n').indexOf(text) + 1}`;
    expect(problems.filter(({ at }) => at.startsWith(broken))).toEqual([
      {
        at: lineOf("await locks.run(lockKey`stock:${id}`, restock, { leaseTime: '10s' });"),
        message: expect.stringContaining("'leaseTime' does not exist"),
      },
      { at: lineOf("await locks.run('stock', () => 1);"), message: "Cannot find name 'locks'." },
      {
        at: lineOf("import { LockServise } from 'nestjs-redis-lock';"),
        message: expect.stringContaining("no exported member named 'LockServise'"),
      },
      { at: lineOf('export const broken = ;'), message: 'Expression expected.' },
    ]);
  });
});

describe('README.md', () => {
  it('has every default as the code has it', () => {
    const rows = tableRows(section('Options')).map(([option, value]) => [plain(option), plain(value)]);
    expect(Object.fromEntries(rows)).toEqual(Object.fromEntries(defaults(DEFAULTS)));
  });

  it('has every error with its code and its HTTP status', () => {
    const rows = tableRows(section('Errors')).map(([name, code, , http]): [string, unknown] => [
      plain(name),
      { code: plain(code), statuses: http?.match(/\d{3}/g)?.map(Number) },
    ]);
    const expected = new Map<string, { code: string; statuses: number[] }>();
    for (const { name, code, statusCode } of exampleErrors()) {
      expected.set(name, { code, statuses: [...(expected.get(name)?.statuses ?? []), statusCode] });
    }
    expect(Object.fromEntries(rows)).toEqual(Object.fromEntries(expected));
    expect(new Set(expected.keys())).toEqual(exportedErrors());
  });

  it('names every event', () => {
    const events: Record<keyof library.LockEvents, true> = {
      acquired: true,
      released: true,
      lost: true,
      refused: true,
      skipped: true,
      renewalFailed: true,
      heldLong: true,
    };
    const named = /Events: (?<list>[^.]+)\./.exec(section('`LockService`'))?.groups?.['list'] ?? '';
    expect(new Set([...named.matchAll(/`(\w+)`/g)].map(([, name]) => name))).toEqual(new Set(Object.keys(events)));
  });
});

describe('the page on npm', () => {
  const page = sections(read(npmPage));
  const ofItsOwn = ['More', 'Licence'];

  it.each([...page.keys()].filter((title) => !ofItsOwn.includes(title)))('has the text of README.md: %s', (title) => {
    expect(page.get(title)).toBe(section(title));
  });

  it('leads nowhere outside of itself', () => {
    expect(links(read(npmPage)).filter((target) => !/^(#|https:)/.test(target))).toEqual([]);
  });
});

describe('links, commands and licences', () => {
  it.each(pages)('every link in %s that stays in the repository leads somewhere', (page) => {
    const dead = links(read(page)).filter((target) => {
      if (/^https?:/.test(target)) return false;
      const [path = '', anchor] = target.split('#');
      const file = path === '' ? page : join(dirname(page), path);
      return !existsSync(join(root, file)) || (anchor !== undefined && !anchors(read(file)).includes(anchor));
    });
    expect(dead).toEqual([]);
  });

  it.each(pages)('every npm script in %s exists', (page) => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
    const named = [...read(page).matchAll(/\bnpm (?:run ([\w:]+)|(test|start)\b)/g)].map(
      ([, run, known]) => run ?? known,
    );
    expect(named.filter((name) => name === undefined || !(name in scripts))).toEqual([]);
  });

  it('the package has the licence of the repository', () => {
    expect(read('libs/redis-lock/LICENSE')).toBe(read('LICENSE'));
  });
});

describeWithRedisServer('the user that README.md creates in Redis', () => {
  it('may do everything that a lock needs', async () => {
    const command = codeBlocks('README.md', read('README.md')).find(({ code }) => code.startsWith('ACL SETUSER'));
    const [name = '', ...args] = command?.code.trim().split(' ') ?? [];
    const redis = await startRedis();
    const admin = newRedis(redis.url);
    try {
      await admin.call(name, ...args);
      await using locks = createLockClient({ connection: redis.url.replace('//', '//locks:password@') });
      await locks.run('a', async (lock) => lock.extend('1m'));
      const resting = await locks.acquire('b', { minHold: '100ms' });
      expect(await resting.release()).toBe('kept');
      expect(await locks.isLocked('b')).toBe(true);
      const next = await locks.acquire('b');
      expect(await next.release()).toBe('released');
      expect(await admin.call('ACL', 'LOG')).toEqual([]);
    } finally {
      admin.disconnect();
      await redis.stop();
    }
  });
});

/** `DEFAULTS` as the table writes them. */
function defaults(values: object, path = ''): [option: string, value: string][] {
  return Object.entries(values).flatMap(([name, value]: [string, unknown]): [string, string][] =>
    typeof value === 'object' && value !== null
      ? defaults(value, `${path}${name}.`)
      : [[path + name, written(value as string | number | boolean)]],
  );
}

function written(value: string | number | boolean): string {
  if (value === Infinity) return 'none';
  if (typeof value === 'string') return `'${value}'`;
  if (typeof value === 'boolean' || value === 0) return String(value);
  return value % 1000 === 0 ? `'${value / 1000}s'` : `'${value}ms'`;
}

/** The names of the error classes that the library exports, less their base. */
function exportedErrors(): Set<string> {
  const isError = (value: unknown): value is new () => LockError =>
    typeof value === 'function' && value.prototype instanceof LockError;
  return new Set(
    Object.values<unknown>(library)
      .filter(isError)
      .map(({ name }) => name),
  );
}

/** One of each kind, and one more where a kind has two answers. */
function exampleErrors(): LockError[] {
  return [
    new library.LockBusyError('k', 'held', undefined),
    new library.LockTimeoutError('k', 1, undefined, 1),
    new library.LockAbortedError('k', undefined),
    new library.LockShutdownError('k'),
    new library.LockUnavailableError('k', 'down'),
    new library.LockLostError('k', 'expired', 1),
    new library.LockArgumentError('wrong', 'k'),
    new library.LockArgumentError('wrong', 'k', { fromRequest: 'params.id' }),
  ];
}
