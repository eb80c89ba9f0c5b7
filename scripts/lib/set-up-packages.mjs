import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { npm, root } from './run.mjs';

/**
 * @typedef {{ version?: string, optional?: boolean, link?: boolean }} LockEntry
 * @typedef {Record<string, LockEntry | undefined>} LockEntries by folder, such as `node_modules/ms`
 */

/**
 * @param {string} file
 * @returns {LockEntries}
 */
function entriesOf(file) {
  return JSON.parse(readFileSync(join(root, file), 'utf8')).packages;
}

/** Whether what npm says it has installed is what the lockfile asks for. File times would not survive a checkout. */
function isInstalled() {
  if (!existsSync(join(root, 'node_modules/.package-lock.json'))) return false;
  const installed = entriesOf('node_modules/.package-lock.json');
  return Object.entries(entriesOf('package-lock.json')).every(([folder, wanted]) => {
    if (!wanted || !folder.includes('node_modules/')) return true; // the root and the workspaces themselves
    const found = installed[folder];
    // What is optional may be for another platform.
    return found ? found.version === wanted.version : wanted.optional === true;
  });
}

export async function setUpPackages() {
  const locked = existsSync(join(root, 'package-lock.json'));
  if (locked && isInstalled()) return;
  console.log('Installing the npm packages …');
  await npm([locked ? 'ci' : 'install', '--include=dev', '--no-audit', '--no-fund'], 2);
}
