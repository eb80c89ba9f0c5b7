// Where the servers' programs are. Debian keeps daemons in /usr/sbin, which is not on every user's PATH.
import { accessSync, constants, existsSync, readdirSync, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';

const usualFolders = [
  '/usr/bin',
  '/usr/sbin',
  '/usr/libexec',
  '/usr/local/bin',
  '/usr/local/sbin',
  '/opt/homebrew/bin',
  '/opt/homebrew/opt/mariadb/bin',
  '/opt/homebrew/opt/mysql/bin',
];

/**
 * @typedef {object} MariadbBinaries
 * @property {string} server `mariadbd` or `mysqld`
 * @property {string | undefined} installDb fills a data folder; undefined for MySQL, whose server does that itself
 */

/** @param {string} file */
function isProgram(file) {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}

/**
 * The first of these programs that exists; an earlier name wins over an earlier folder.
 *
 * @param {...string} names
 * @returns {string | undefined} its absolute path
 */
export function findBinary(...names) {
  const folders = [...(process.env.PATH ?? '').split(delimiter).filter(Boolean), ...usualFolders];
  return names.flatMap((name) => folders.map((folder) => join(folder, name))).find(isProgram);
}

export function findRedisServer() {
  return findBinary('redis-server', 'valkey-server');
}

export function findValkeyServer() {
  return findBinary('valkey-server');
}

/** libfaketime for programs with threads, to be preloaded; on Linux only. */
export function findFaketime() {
  if (process.platform !== 'linux') return undefined;
  const folders = ['/usr/lib', '/usr/lib64', '/usr/local/lib'].filter(existsSync);
  return folders
    .flatMap((folder) => [folder, ...readdirSync(folder).map((name) => join(folder, name))])
    .map((folder) => join(folder, 'faketime/libfaketimeMT.so.1'))
    .find(existsSync);
}

/** @returns {MariadbBinaries | undefined} */
export function findMariadb() {
  const installDb = findBinary('mariadb-install-db', 'mysql_install_db');
  const server = installDb ? findBinary('mariadbd', 'mysqld') : findBinary('mysqld');
  return server ? { server, installDb } : undefined;
}
