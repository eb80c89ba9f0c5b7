import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/** The repository's folder: the scripts work from wherever they are called. */
export const root = fileURLToPath(new URL('../../', import.meta.url));

/**
 * Runs a program in the repository's folder. What it prints is shown only when it fails.
 *
 * @param {string} program
 * @param {string[]} args
 * @param {{ attempts?: number, env?: NodeJS.ProcessEnv }} [options]
 */
export async function run(program, args, { attempts = 1, env = process.env } = {}) {
  for (let attempt = 1; ; attempt++) {
    const shell = process.platform === 'win32';
    const child = spawn(program, args, { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'], shell });
    /** @type {Buffer[]} */
    const output = [];
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => output.push(chunk));
    const [code, signal] = await once(child, 'close');
    if (code === 0) return;
    process.stderr.write(Buffer.concat(output));
    const failure = `${program} ${args.join(' ')} failed (${signal ?? `code ${code}`})`;
    if (attempt === attempts) throw new Error(failure);
    console.error(`${failure}, trying once more`);
  }
}

/**
 * npm, and the same npm that runs this script if one does.
 *
 * @param {string[]} args
 * @param {number} [attempts]
 */
export function npm(args, attempts) {
  // `npm run … -w some-workspace` hands its choice down, and the set-up is always about the whole repository.
  const { npm_config_workspace, npm_config_workspaces, ...env } = process.env;
  const cli = env.npm_execpath;
  return cli?.endsWith('npm-cli.js')
    ? run(process.execPath, [cli, ...args], { attempts, env })
    : run('npm', args, { attempts, env });
}
