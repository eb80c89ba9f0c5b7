#!/usr/bin/env node
// Makes a fresh clone ready to run: npm packages, the programs of Redis and MariaDB, with --test-servers those that only
// some tests need and, with --build, the build.
// It does only what is missing, so it stands in front of `npm run demo`, `npm test` and `npm start`. No imports from
// npm: they may not be there yet.
import { setUpBuild } from './lib/set-up-build.mjs';
import { setUpPackages } from './lib/set-up-packages.mjs';
import { setUpServers } from './lib/set-up-servers.mjs';
import { setUpTestServers } from './lib/set-up-test-servers.mjs';

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
const supported = (major === 20 && minor >= 19) || (major === 22 && minor >= 12) || major > 22;

try {
  if (!supported) throw new Error(`Node 20.19 or later, or 22.12 or later is needed; this is ${process.version}`);
  await setUpPackages();
  await setUpServers();
  if (process.argv.includes('--test-servers')) await setUpTestServers();
  if (process.argv.includes('--build')) await setUpBuild();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
