import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { builtinModules } from 'node:module';
import { dirname, posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, test } from '@jest/globals';
import ts from 'typescript';

const root = fileURLToPath(new URL('../libs/redis-lock/', import.meta.url));
const run = promisify(execFile);

interface Manifest {
  main: string;
  types: string;
  exports: Record<string, string | Record<string, Record<string, string>>>;
  typesVersions: Record<string, Record<string, string[]>>;
  dependencies: Record<string, string>;
  peerDependencies: Record<string, string>;
}

interface Packed {
  /** Of the tarball, in bytes. */
  size: number;
  files: { path: string }[];
}

describe('The package, as it is built', () => {
  let manifest: Manifest;
  let packed: Packed;
  let files: string[];

  beforeAll(async () => {
    if (!existsSync(`${root}dist/esm/index.js`)) throw new Error('Not built: npm run build');
    manifest = JSON.parse(await read('package.json')) as Manifest;
    const { stdout } = await run('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], { cwd: root });
    packed = (JSON.parse(stdout) as [Packed])[0];
    files = packed.files.map(({ path }) => path);
  });

  async function read(path: string): Promise<string> {
    return readFile(root + path, 'utf8');
  }

  /** What a file of the package imports, by the text that names it. */
  async function importsOf(path: string): Promise<string[]> {
    return ts.preProcessFile(await read(path), true, true).importedFiles.map(({ fileName }) => fileName);
  }

  const isRelative = (name: string): boolean => name.startsWith('.');
  const packageOf = (name: string): string => name.split('/', name.startsWith('@') ? 2 : 1).join('/');

  async function importedPackages(paths: readonly string[]): Promise<Set<string>> {
    const names = (await Promise.all(paths.map(importsOf))).flat();
    return new Set(names.filter((name) => !isRelative(name)).map(packageOf));
  }

  const compiled = (): string[] => files.filter((path) => /^dist\/.*\.(js|d\.ts)$/.test(path));

  describe('its modules', () => {
    async function evaluate(args: string[], source: string): Promise<unknown> {
      const { stdout } = await run(process.execPath, [...args, '-e', source], { cwd: root });
      return JSON.parse(stdout) as unknown;
    }

    const report = `console.log(JSON.stringify({
      service: required.LockService === imported.LockService,
      error: required.LockError === imported.LockError,
      contract: requiredTesting.storeContract === importedTesting.storeContract,
      guard: required.isLockError(new imported.LockBusyError('k', 'held')),
      names: Object.keys(required).length === Object.keys(imported).length,
      prefix: imported.DEFAULTS.prefix,
    }));`;
    const oneOfEach = { service: true, error: true, contract: true, guard: true, names: true, prefix: 'lock' };

    test('require and import give one LockService, from CommonJS', async () => {
      const source = `(async () => {
        const required = require('nestjs-redis-lock');
        const requiredTesting = require('nestjs-redis-lock/testing');
        const imported = await import('nestjs-redis-lock');
        const importedTesting = await import('nestjs-redis-lock/testing');
        ${report}
      })()`;
      expect(await evaluate(['--no-warnings', '--input-type=commonjs'], source)).toEqual(oneOfEach);
    });

    test('import and require give one LockService, from ESM', async () => {
      const source = `
        import * as imported from 'nestjs-redis-lock';
        import * as importedTesting from 'nestjs-redis-lock/testing';
        import { createRequire } from 'node:module';
        const require = createRequire(process.cwd() + '/x.js');
        const required = require('nestjs-redis-lock');
        const requiredTesting = require('nestjs-redis-lock/testing');
        ${report}`;
      expect(await evaluate(['--no-warnings', '--input-type=module'], source)).toEqual(oneOfEach);
    });

    test('the CommonJS files work for those who do not know module-sync', async () => {
      const source = `
        const main = require('./dist/cjs/index.js');
        const testing = require('./dist/cjs/testing/index.js');
        console.log(JSON.stringify([main.DEFAULTS.prefix, typeof testing.storeContract]));`;
      expect(await evaluate(['--no-warnings', '--input-type=commonjs'], source)).toEqual(['lock', 'function']);
    });

    test('an import does nothing that keeps the process alive', async () => {
      const source = `import 'nestjs-redis-lock'; import 'nestjs-redis-lock/testing'; console.log('[]');`;
      expect(await evaluate(['--no-warnings', '--input-type=module'], source)).toEqual([]);
    });
  });

  describe('its tarball', () => {
    test('holds what is compiled and its sources, and nothing else', () => {
      expect(files).toEqual(expect.arrayContaining(['package.json', 'dist/esm/index.js', 'dist/cjs/index.js']));
      expect(files).toEqual(expect.arrayContaining(['src/index.ts', 'src/testing/index.ts', 'dist/cjs/package.json']));
      const others = files.filter((path) => !/^(dist\/(esm|cjs)|src)\//.test(path));
      expect(others.filter((path) => !/^(package\.json|README\.md|LICENSE|CHANGELOG\.md)$/.test(path))).toEqual([]);
      expect(files.filter((path) => /\.spec\.|\.test\.|tsbuildinfo|tsconfig/.test(path))).toEqual([]);
    });

    test('is small', () => {
      expect(packed.size).toBeLessThan(420_000);
    });

    test('holds every file that its manifest names', () => {
      const named = [manifest.main, manifest.types, ...Object.values(manifest.typesVersions['*'] ?? {}).flat()];
      for (const target of Object.values(manifest.exports)) {
        if (typeof target === 'string') named.push(target);
        else named.push(...Object.values(target).flatMap((condition) => Object.values(condition)));
      }
      expect(named.length).toBeGreaterThan(12);
      expect(named.map((path) => posix.normalize(path)).filter((path) => !files.includes(path))).toEqual([]);
    });

    test('holds what every relative import asks for', async () => {
      const missing: string[] = [];
      for (const path of compiled()) {
        for (const name of (await importsOf(path)).filter(isRelative)) {
          const target = posix.join(dirname(path), path.endsWith('.d.ts') ? name.replace(/\.js$/, '.d.ts') : name);
          if (!files.includes(target)) missing.push(`${name} of ${path}`);
        }
      }
      expect(missing).toEqual([]);
    });

    test('has types that need no types of its dependencies', async () => {
      const declarations = compiled().filter((path) => path.endsWith('.d.ts'));
      expect(declarations.length).toBeGreaterThan(20);
      const peers = Object.keys(manifest.peerDependencies);
      const foreign: string[] = [];
      for (const path of declarations) {
        for (const name of (await importsOf(path)).filter((name) => !isRelative(name) && !name.startsWith('node:'))) {
          if (!peers.some((peer) => name === peer || name.startsWith(`${peer}/`))) foreign.push(`${name} of ${path}`);
        }
      }
      expect(foreign).toEqual([]);
    });

    test('holds the sources of every source map', async () => {
      const maps = files.filter((path) => path.endsWith('.map'));
      expect(maps.length).toBeGreaterThan(20);
      const missing: string[] = [];
      for (const path of maps) {
        const { sources, sourceRoot = '' } = JSON.parse(await read(path)) as { sources: string[]; sourceRoot?: string };
        for (const source of sources) {
          if (!files.includes(posix.join(dirname(path), sourceRoot, source))) missing.push(`${source} of ${path}`);
        }
      }
      expect(missing).toEqual([]);
    });

    test('holds a source map of every script', () => {
      const scripts = files.filter((path) => /^dist\/.*\.js$/.test(path));
      expect(scripts.filter((path) => !files.includes(`${path}.map`))).toEqual([]);
    });

    test('holds nothing compiled whose source has gone', () => {
      const stems = compiled().map((path) => path.replace(/^dist\/(esm|cjs)\//, '').replace(/(\.d)?\.[jt]s$/, ''));
      expect([...new Set(stems)].filter((stem) => !files.includes(`src/${stem}.ts`))).toEqual([]);
    });
  });

  describe('its imports', () => {
    test('are dependencies, peers or of Node', async () => {
      const imported = await importedPackages(compiled());
      const declared = new Set([...Object.keys(manifest.dependencies), ...Object.keys(manifest.peerDependencies)]);
      const undeclared = [...imported].filter(
        (name) => !declared.has(name) && !builtinModules.includes(name.replace(/^node:/, '')),
      );
      expect(undeclared).toEqual([]);
    });

    test('use every dependency, and every peer', async () => {
      const imported = await importedPackages(compiled());
      const declared = [...Object.keys(manifest.dependencies), ...Object.keys(manifest.peerDependencies)];
      expect(declared.filter((name) => !imported.has(name))).toEqual([]);
    });

    test.each(['lock', 'stores'])('keep %s free of Nest', async (layer) => {
      const imported = await importedPackages(compiled().filter((path) => path.split('/')[2] === layer));
      expect([...imported].filter((name) => /^(@nestjs\/|rxjs$|reflect-metadata$)/.test(name))).toEqual([]);
    });

    test('keep lock free of Redis', async () => {
      const ofLock = compiled().filter((path) => path.split('/')[2] === 'lock');
      expect(ofLock.length).toBeGreaterThan(20);
      expect(await importedPackages(ofLock)).not.toContain('ioredis');
      const relative = (await Promise.all(ofLock.map(importsOf))).flat().filter(isRelative);
      expect(relative.filter((name) => /\/(redis|memory|module|decorators|interceptors)\//.test(name))).toEqual([]);
    });

    test('keep the stores free of the layers above them, but for errors, events, clocks, timers and contexts', async () => {
      const ofStores = compiled().filter((path) => path.split('/')[2] === 'stores');
      const above = (await Promise.all(ofStores.map(importsOf))).flat().filter((name) => /^(\.\.\/)+\w/.test(name));
      const allowed =
        /\/(lock\.errors|lock-events|timeout|scope|clock|deadlines)\.js$|^(\.\.\/)+redis\/|\/(lock-store|script|replies)\.js$/;
      expect([...new Set(above)].filter((name) => !allowed.test(name))).toEqual([]);
    });
  });
});
