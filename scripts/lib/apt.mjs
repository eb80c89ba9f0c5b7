import { execFile } from 'node:child_process';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { findBinary } from './find-binary.mjs';

const exec = promisify(execFile);

// Debian asks this file before it starts the service of a package that it installs: 101 is "don't".
const policy = '/usr/sbin/policy-rc.d';
// A mirror that cannot be reached must not hold up a set-up, and somebody else's apt-get ends some time.
const patience = [
  '-o',
  'Acquire::http::Timeout=20',
  '-o',
  'Acquire::https::Timeout=20',
  '-o',
  'DPkg::Lock::Timeout=60',
];

export const aptEnv = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };

export function mayUseApt() {
  return findBinary('apt-get') !== undefined && process.getuid?.() === 0;
}

/**
 * @template T
 * @param {string} file is there while the work lasts and no longer, also when a signal ends it
 * @param {{ text: string, mode?: number }} content
 * @param {() => Promise<T>} work
 */
export async function withTemporaryFile(file, { text, mode }, work) {
  const clean = () => rmSync(file, { force: true });
  const interrupted = () => process.exit(130);
  process.on('exit', clean).on('SIGINT', interrupted).on('SIGTERM', interrupted);
  try {
    writeFileSync(file, text, { mode });
    return await work();
  } finally {
    clean();
    process.off('exit', clean).off('SIGINT', interrupted).off('SIGTERM', interrupted);
  }
}

/**
 * @template T
 * @param {() => Promise<T>} work during which packages can be installed without their services being started
 */
export function withoutServices(work) {
  return existsSync(policy) ? work() : withTemporaryFile(policy, { text: '#!/bin/sh\nexit 101\n', mode: 0o755 }, work);
}

/**
 * @param {...string} args
 * @returns {Promise<boolean>} whether it went well; it prints nothing
 */
export async function quietApt(...args) {
  try {
    await exec('apt-get', ['-q', ...patience, ...args], { env: aptEnv, maxBuffer: Infinity });
    return true;
  } catch {
    return false;
  }
}

/** @param {string} name of a package */
export async function isKnownToApt(name) {
  try {
    return /^Package:/m.test((await exec('apt-cache', ['show', name], { env: aptEnv })).stdout);
  } catch {
    return false;
  }
}
