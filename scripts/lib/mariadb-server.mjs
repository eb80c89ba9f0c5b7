import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { findMariadb } from './find-binary.mjs';
import { ServerProcess, startServer, userArgs } from './server-process.mjs';

const run = promisify(execFile);
const database = 'flash_sale';

/** A MariaDB (or MySQL) of our own with an empty database; `root` needs no password. */
export class MariadbServer extends ServerProcess {
  #binaries;

  /**
   * @param {import('./find-binary.mjs').MariadbBinaries} binaries
   * @param {number} port
   */
  constructor(binaries, port) {
    super(port);
    this.#binaries = binaries;
  }

  get url() {
    return `mysql://root@127.0.0.1:${this.port}/${database}`;
  }

  /** Fills the data folder. */
  async prepare() {
    await writeFile(join(this.directory, 'init.sql'), `CREATE DATABASE IF NOT EXISTS ${database};\n`);
    const { server, installDb } = this.#binaries;
    const common = ['--no-defaults', `--datadir=${join(this.directory, 'data')}`, ...userArgs];
    if (installDb) {
      const options = ['--auth-root-authentication-method=normal', '--skip-test-db', '--innodb-log-file-size=8M'];
      await run(installDb, [...common, ...options], { timeout: 60_000 });
    } else {
      await run(server, [...common, '--initialize-insecure'], { timeout: 60_000 });
    }
  }

  /** @override */
  command() {
    return {
      program: this.#binaries.server,
      args: [
        '--no-defaults',
        ...userArgs,
        `--datadir=${join(this.directory, 'data')}`,
        `--init-file=${join(this.directory, 'init.sql')}`,
        `--socket=${join(this.directory, 'sql.sock')}`,
        `--pid-file=${join(this.directory, 'sql.pid')}`,
        `--port=${this.port}`,
        '--bind-address=127.0.0.1',
        '--skip-networking=0',
        '--skip-log-bin',
        '--innodb-flush-log-at-trx-commit=0',
        '--innodb-buffer-pool-size=64M',
        '--loose-innodb-log-file-size=8M',
        '--loose-mysqlx=0', // MySQL's second port
      ],
      ready: /d: ready for connections/,
    };
  }
}

/** Starts a private MariaDB with the empty database `flash_sale`, and returns when it accepts connections. */
export function startMariadb() {
  const binaries = findMariadb();
  if (!binaries) throw new Error('There is no mariadbd (or mysqld) here: run node scripts/setup.mjs');
  return startServer(
    (free) => new MariadbServer(binaries, free),
    undefined,
    (server) => server.prepare(),
  );
}
