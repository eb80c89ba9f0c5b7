import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, test } from '@jest/globals';
import * as main from 'nestjs-redis-lock';
import * as testing from 'nestjs-redis-lock/testing';
import ts from 'typescript';

// What users may import. A name that goes, or changes its kind, is a breaking change; a new one is a promise.
const MAIN = {
  values: [
    'CronLocked',
    'DEFAULTS',
    'GRANT_CONFIRM_MS',
    'GRANT_LEASE_MS',
    'LockAbortedError',
    'LockAccess',
    'LockArgumentError',
    'LockBusyError',
    'LockClient',
    'LockError',
    'LockHandle',
    'LockHttpException',
    'LockKey',
    'LockLostError',
    'LockService',
    'LockShutdownError',
    'LockTimeoutError',
    'LockUnavailableError',
    'Locked',
    'LockedHandler',
    'MemoryLockStore',
    'NO_INBOX',
    'POLL_CAP_MS',
    'RESERVED_TOKENS',
    'ReadWriteLock',
    'RedisLockModule',
    'Semaphore',
    'createLockClient',
    'currentLock',
    'isLockError',
    'lockKey',
  ],
  types: [
    'AccessOptions',
    'AcquireCommand',
    'AcquireReply',
    'AcquiredReply',
    'CronLockedOptions',
    'Duration',
    'Grant',
    'GrantInbox',
    'GrantListener',
    'HeldReply',
    'Holders',
    'KeyValue',
    'LockClientOptions',
    'LockDefaults',
    'LockErrorCode',
    'LockEventEmitter',
    'LockEvents',
    'LockFeature',
    'LockHolder',
    'LockLogger',
    'LockLossReason',
    'LockOptions',
    'LockState',
    'LockStore',
    'LockedDecorator',
    'LockedHandlerOptions',
    'LockedOptions',
    'LockedWork',
    'MethodKey',
    'PermitOptions',
    'QueuePlace',
    'QueueRequest',
    'ReadWriteState',
    'RedisClientLike',
    'RedisClusterClientLike',
    'RedisClusterNodes',
    'RedisClusterSource',
    'RedisConnectionSource',
    'RedisLockModuleOptions',
    'RedisLockOptionsFactory',
    'RedisServerSource',
    'ReduceCommand',
    'ReleaseCommand',
    'ReleaseOutcome',
    'ReleaseReply',
    'RenewCommand',
    'RenewReply',
    'ReplicaDemand',
    'ReplicaOptions',
    'ReturnKind',
    'SemaphoreState',
    'Share',
    'ShareHolder',
    'Successor',
    'TryRunResult',
  ],
};

const TESTING = {
  values: ['RecordingLockService', 'attachLocks', 'makeBusy', 'makeLost', 'storeContract'],
  types: ['RecordedCall', 'StoreCheck', 'StoreUnderTest'],
};

/** What is public of the classes that users hold in their hands; everything else may change. */
const MEMBERS = {
  LockAccess: ['acquire', 'key', 'run', 'tryAcquire', 'tryRun'],
  LockClient: 'acquire close drain events isLocked readWrite run semaphore tryAcquire tryRun'.split(' '),
  ReadWriteLock: ['inspect', 'key', 'read', 'write'],
  Semaphore: ['acquire', 'inspect', 'key', 'permits', 'run', 'tryAcquire', 'tryRun'],
  LockHandle: 'assertHeld downgrade extend fencingToken held key lost nodes release remaining run signal'.split(' '),
};

describe('The public surface', () => {
  test("of 'nestjs-redis-lock': what can be imported at run time", () => {
    expect(Object.keys(main).sort()).toEqual(MAIN.values);
  });

  test("of 'nestjs-redis-lock/testing': what can be imported at run time", () => {
    expect(Object.keys(testing).sort()).toEqual(TESTING.values);
  });

  test('the defaults', () => {
    expect(main.DEFAULTS).toEqual({
      prefix: 'lock',
      enabled: true,
      ttl: 30_000,
      wait: 5_000,
      renew: true,
      minHold: 0,
      maxHold: Infinity,
      maxWaiters: Infinity,
      fair: false,
      reentrant: true,
      onLost: 'throw',
      commandTimeout: 1_000,
      nodeTimeout: 50,
      fencing: true,
      backoff: { initial: 50, max: 1_000 },
      replicas: false,
      'replicas.timeout': 100,
      shutdown: { drain: 10_000 },
    });
  });
});

describe('The public types, as they are built', () => {
  const dist = (path: string): string => fileURLToPath(new URL(`../libs/redis-lock/dist/${path}`, import.meta.url));
  const formats = ['esm', 'cjs'];
  let program: ts.Program;

  beforeAll(() => {
    const entries = formats.flatMap((format) => [dist(`${format}/index.d.ts`), dist(`${format}/testing/index.d.ts`)]);
    const missing = entries.filter((entry) => !existsSync(entry));
    if (missing.length > 0) throw new Error(`Not built (npm run build): ${missing.join(', ')}`);
    program = ts.createProgram(entries, {
      module: ts.ModuleKind.NodeNext,
      target: ts.ScriptTarget.ES2023,
      strict: true,
      skipLibCheck: true,
      types: ['node'],
    });
  });

  test.each(formats)('%s', (format) => {
    expect(namesOf(dist(`${format}/index.d.ts`))).toEqual(MAIN);
    expect(namesOf(dist(`${format}/testing/index.d.ts`))).toEqual(TESTING);
  });

  test.each(Object.entries(MEMBERS))('the members of %s', (name, members) => {
    const symbol = exportsOf(dist('esm/index.d.ts')).find((each) => each.name === name);
    if (!symbol) throw new Error(`There is no ${name}`);
    const checker = program.getTypeChecker();
    const publicMembers = checker
      .getPropertiesOfType(checker.getDeclaredTypeOfSymbol(symbol))
      .filter((member) => !member.name.startsWith('__@') && isPublic(member))
      .map((member) => member.name);
    expect(publicMembers.sort()).toEqual(members);
  });

  function isPublic(member: ts.Symbol): boolean {
    const declaration = member.valueDeclaration;
    return (
      declaration !== undefined &&
      (ts.getCombinedModifierFlags(declaration) & ts.ModifierFlags.NonPublicAccessibilityModifier) === 0
    );
  }

  function exportsOf(entry: string): ts.Symbol[] {
    const checker = program.getTypeChecker();
    const source = program.getSourceFile(entry);
    const symbol = source && checker.getSymbolAtLocation(source);
    if (!symbol) throw new Error(`No module: ${entry}`);
    return checker.getExportsOfModule(symbol);
  }

  /** The exports of a declaration file: which of them are values, and which are types only. */
  function namesOf(entry: string): { values: string[]; types: string[] } {
    const checker = program.getTypeChecker();
    const names = { values: [] as string[], types: [] as string[] };
    for (const symbol of exportsOf(entry)) {
      const isAlias = (symbol.flags & ts.SymbolFlags.Alias) !== 0;
      const target = isAlias ? checker.getAliasedSymbol(symbol) : symbol;
      const isValue = (target.flags & ts.SymbolFlags.Value) !== 0 && !isTypeOnly(symbol);
      names[isValue ? 'values' : 'types'].push(symbol.name);
    }
    return { values: names.values.sort(), types: names.types.sort() };
  }

  /** `export type { … }` and `export { type … }`, also of a class. */
  function isTypeOnly(symbol: ts.Symbol): boolean {
    return (symbol.declarations ?? []).some(
      (declaration) => ts.isExportSpecifier(declaration) && ts.isTypeOnlyExportDeclaration(declaration),
    );
  }
});
