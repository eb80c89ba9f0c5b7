import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { npm, root } from './run.mjs';

const stamp = join(root, 'node_modules/.cache/redis-lock/build');
const skipped = new Set(['node_modules', 'dist']);

/**
 * @param {string} folder
 * @returns {string[]} every file below it that may be an input of the build
 */
function filesBelow(folder) {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => !skipped.has(entry.name) && !entry.name.endsWith('.spec.ts'))
    .flatMap((entry) => (entry.isDirectory() ? filesBelow(join(folder, entry.name)) : join(folder, entry.name)));
}

/** Changes whenever a file that the build reads is changed, added, removed, or replaced by an older one. */
function fingerprint() {
  const atRoot = ['package-lock.json', 'tsconfig.base.json', 'nest-cli.json'].map((name) => join(root, name));
  const files = [...atRoot.filter(existsSync), ...filesBelow(join(root, 'libs')), ...filesBelow(join(root, 'apps'))];
  const hash = createHash('sha256');
  for (const file of files.sort()) {
    const { mtimeMs, size } = statSync(file);
    hash.update(`${file}\n${mtimeMs} ${size}\n`);
  }
  return hash.digest('hex');
}

/** The folders that the build writes; one that somebody deleted means that it has to be built again. */
function hasOutput() {
  const packages = ['libs', 'apps'].flatMap((group) =>
    readdirSync(join(root, group)).map((name) => join(root, group, name)),
  );
  return packages.every((folder) => !existsSync(join(folder, 'tsconfig.json')) || existsSync(join(folder, 'dist')));
}

export async function setUpBuild() {
  const sources = fingerprint();
  if (hasOutput() && existsSync(stamp) && readFileSync(stamp, 'utf8') === sources) return;
  console.log('Building …');
  rmSync(stamp, { force: true });
  await npm(['run', 'build']);
  mkdirSync(dirname(stamp), { recursive: true });
  writeFileSync(stamp, sources);
}
