import { aptEnv as env, mayUseApt, withoutServices } from './apt.mjs';
import { findBinary, findMariadb, findRedisServer } from './find-binary.mjs';
import { run } from './run.mjs';

/** @param {string[]} packages */
function installWithApt(packages) {
  return withoutServices(async () => {
    await run('apt-get', ['update', '-q'], { attempts: 2, env });
    await run('apt-get', ['install', '-qy', '--no-install-recommends', ...packages], { attempts: 2, env });
  });
}

/**
 * The one command for this machine.
 *
 * @param {string[]} packages
 */
function advice(packages) {
  if (findBinary('apt-get')) return `sudo apt-get install -y --no-install-recommends ${packages.join(' ')}`;
  if (findBinary('brew')) return `brew install ${packages.map((name) => name.replace('-server', '')).join(' ')}`;
  return (
    'export REDIS_URL=redis://127.0.0.1:16379 DATABASE_URL=mysql://root@127.0.0.1:13306/flash_sale; ' +
    'docker compose up -d --wait'
  );
}

/**
 * The programs of Redis and MariaDB: those that are here, those behind REDIS_URL and DATABASE_URL, or, where this
 * script may, freshly installed ones. Tests and demo start private servers with them; no service is started or used.
 */
export async function setUpServers() {
  const packages = [];
  if (!process.env.REDIS_URL && !findRedisServer()) packages.push('redis-server');
  if (!process.env.DATABASE_URL && !findMariadb()) packages.push('mariadb-server');
  if (packages.length === 0) return;
  const missing = packages.join(' and ');
  if (!mayUseApt()) {
    throw new Error(`${missing} not found. This installs what is missing:\n\n  ${advice(packages)}\n`);
  }
  console.log(`Installing ${missing} with apt-get …`);
  await installWithApt(packages);
  if ((process.env.REDIS_URL || findRedisServer()) && (process.env.DATABASE_URL || findMariadb())) return;
  throw new Error(`apt-get installed ${missing}, but the programs are in none of the usual folders`);
}
