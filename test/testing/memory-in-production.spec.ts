import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { Test } from '@nestjs/testing';
import { createLockClient, MemoryLockStore, RedisLockModule, type LockClientOptions } from 'nestjs-redis-lock';
import { Logs } from '../nest/support/nest-fixture.js';

const WARNING = /within this process only; other nodes are not excluded.*"connection"/;

describe('The store in memory, where NODE_ENV is', () => {
  const before = process.env['NODE_ENV'];
  let warnings: string[];

  beforeEach(() => {
    warnings = [];
    process.env['NODE_ENV'] = 'production';
  });
  afterEach(() => {
    if (before === undefined) delete process.env['NODE_ENV'];
    else process.env['NODE_ENV'] = before;
  });

  async function use(options: Partial<LockClientOptions>): Promise<string[]> {
    await using locks = createLockClient({ ...options, logger: { warn: (message) => warnings.push(message) } });
    await locks.run('a', () => locks.run('b', () => undefined));
    return warnings;
  }

  test.each<[string, () => LockClientOptions['store']]>([
    ["'memory'", () => 'memory'],
    ['a MemoryLockStore', () => new MemoryLockStore()],
  ])('production: %s → one warning that says what to do', async (_what, store) => {
    expect(await use({ store: store() })).toEqual([expect.stringMatching(WARNING)]);
  });

  test.each(['test', 'development', undefined])('%s → none', async (env) => {
    if (env === undefined) delete process.env['NODE_ENV'];
    else process.env['NODE_ENV'] = env;
    expect(await use({ store: 'memory' })).toEqual([]);
  });

  test('production: locks that are not enabled, and a store of the user → none', async () => {
    expect(await use({ enabled: false, store: 'memory' })).toEqual([]);
    const memory = new MemoryLockStore();
    const store = {
      acquire: memory.acquire.bind(memory),
      release: memory.release.bind(memory),
      renew: memory.renew.bind(memory),
      inspect: memory.inspect.bind(memory),
      grants: memory.grants.bind(memory),
      close: memory.close.bind(memory),
    };
    expect(await use({ store })).toEqual([]);
  });

  test("production: a Nest application → in Nest's log, naming the module", async () => {
    const logs = new Logs();
    const module = await Test.createTestingModule({ imports: [RedisLockModule.forRoot({ store: 'memory' })] })
      .setLogger(logs)
      .compile();
    await module.close();
    expect(logs.of('warn')).toEqual([expect.stringMatching(new RegExp(`^RedisLockModule: .*${WARNING.source}`))]);
  });
});
