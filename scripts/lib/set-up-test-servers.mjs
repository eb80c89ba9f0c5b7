import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isKnownToApt, mayUseApt, quietApt, withoutServices, withTemporaryFile } from './apt.mjs';
import { backports } from './backports.mjs';
import { findFaketime, findValkeyServer } from './find-binary.mjs';
import { root } from './run.mjs';

const stamp = join(root, 'node_modules/.cache/redis-lock/test-servers');
const backportsList = '/etc/apt/sources.list.d/redis-lock-backports.sources';

function missing() {
  return [...(findFaketime() ? [] : ['faketime']), ...(findValkeyServer() ? [] : ['valkey-server'])];
}

/** @param {...string} args */
function install(...args) {
  return quietApt('install', '-y', '--no-install-recommends', ...args);
}

/** @param {string} name of a package */
async function installFromBackports(name) {
  const source = backports();
  if (!source) return;
  await withTemporaryFile(backportsList, { text: source.list, mode: 0o644 }, async () => {
    // Of this list alone; apt forgets it again at the next update.
    const only = [`Dir::Etc::sourcelist=${backportsList}`, 'Dir::Etc::sourceparts=-', 'APT::Get::List-Cleanup=0'];
    await quietApt('update', ...only.flatMap((option) => ['-o', option]));
    await install('-t', source.suite, name);
  });
}

/**
 * What some tests need beside Redis and MariaDB, and skip when it is not there: installed where this script may, once
 * for each clone, and never an error.
 */
export async function setUpTestServers() {
  const wanted = missing();
  if (wanted.length === 0 || !mayUseApt() || existsSync(stamp)) return;
  console.log(`Installing ${wanted.join(' and ')} for some of the tests …`);
  try {
    await withoutServices(async () => {
      await quietApt('update');
      for (const name of wanted) {
        await ((await isKnownToApt(name)) ? install(name) : installFromBackports(name));
      }
    });
  } catch {
    // The notice below says what is missing.
  }
  const still = missing();
  if (still.length > 0) console.log(`There is no ${still.join(' and no ')} here: the tests that need it will not run`);
  mkdirSync(dirname(stamp), { recursive: true });
  writeFileSync(stamp, '');
}
