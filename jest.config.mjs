// Run it as package.json's "test" does: native ESM needs Node's --experimental-vm-modules.
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const here = (/** @type {string} */ path) => fileURLToPath(new URL(path, import.meta.url));

/** @type {import('jest').Config} */
export default {
  roots: ['libs/redis-lock/src', 'apps/flash-sale/src', 'test'].map(here).filter(existsSync),
  testMatch: ['**/*.spec.ts'],
  testTimeout: 60_000,
  maxWorkers: 2,
  cacheDirectory: here('node_modules/.cache/jest'),
  injectGlobals: false,
  globalSetup: here('test/support/start-shared-redis.mjs'),
  globalTeardown: here('test/support/stop-shared-redis.mjs'),
  extensionsToTreatAsEsm: ['.ts'],
  moduleFileExtensions: ['ts', 'js', 'mjs', 'cjs', 'json', 'node'],
  moduleNameMapper: {
    '^(\\.{1,2}/.*)\\.js$': '$1',
    '^nestjs-redis-lock$': here('libs/redis-lock/src/index.ts'),
    '^nestjs-redis-lock/testing$': here('libs/redis-lock/src/testing/index.ts'),
  },
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      {
        swcrc: false,
        jsc: {
          target: 'es2023',
          parser: { syntax: 'typescript', decorators: true },
          transform: { legacyDecorator: true, decoratorMetadata: true },
          keepClassNames: true,
        },
      },
    ],
  },
};
