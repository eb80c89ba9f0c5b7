import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { npm, run } from '../../scripts/lib/run.mjs';
import { findRedisServer } from '../../scripts/lib/servers.mjs';
import { bench, root } from './options.mjs';

/**
 * Makes sure of everything that the benchmark needs. No imports from npm: they may not be there yet.
 *
 * @param {import('./options.mjs').Options} options
 */
export async function setUp({ lib, ownLib }) {
  if ((ownLib && !existsSync(join(root, 'node_modules'))) || !findRedisServer()) {
    say('Setting up …');
    await run(process.execPath, ['scripts/setup.mjs']);
  }
  if (!existsSync(join(bench, 'node_modules'))) {
    say('Installing the peers …');
    await npm(['ci', '--prefix', 'bench', '--no-audit', '--no-fund'], 2);
  }
  if (ownLib && isStale(lib)) {
    say('Building the library …');
    await npm(['run', 'build', '-w', 'nestjs-redis-lock']);
  }
}

/** @param {string} text */
function say(text) {
  process.stderr.write(`${text}\n`);
}

/** @param {string} lib */
function isStale(lib) {
  // The compiler leaves a file that would not change as it is, but not its own notes.
  const notes = join(lib, 'dist/esm.tsbuildinfo');
  const built = [notes, join(lib, 'dist/esm/index.js')];
  return !built.every(existsSync) || statSync(notes).mtimeMs < newestIn(join(lib, 'src'));
}

/**
 * @param {string} folder
 * @returns {number}
 */
function newestIn(folder) {
  const times = readdirSync(folder, { withFileTypes: true }).map((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return newestIn(path);
    return entry.name.endsWith('.spec.ts') ? 0 : statSync(path).mtimeMs;
  });
  return Math.max(0, ...times);
}
