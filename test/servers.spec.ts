import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { connect } from 'node:net';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';
import { createConnection } from 'mysql2/promise';
import { startMariadb, startRedis } from '../scripts/lib/servers.mjs';
import { describeWithMariadb, describeWithRedisServer, newRedis } from './support/redis.js';
import { waitFor } from './support/wait-for.js';

const run = promisify(execFile);

async function accepts(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

/** Rejects when there is no answer in time. */
async function ping(url: string, commandTimeout: number): Promise<string> {
  const redis = newRedis(url, { commandTimeout, enableReadyCheck: false });
  try {
    return await redis.ping();
  } finally {
    redis.disconnect();
  }
}

describeWithRedisServer('startRedis', () => {
  test('starts a server that evicts nothing and keeps nothing on disk', async () => {
    await using server = await startRedis();
    const redis = newRedis(server.url);
    expect(await redis.config('GET', 'maxmemory-policy')).toEqual(['maxmemory-policy', 'noeviction']);
    expect(await redis.config('GET', 'save')).toEqual(['save', '']);
    redis.disconnect();
  });

  test('a paused server answers when it is resumed', async () => {
    await using server = await startRedis();
    server.pause();
    await expect(ping(server.url, 100)).rejects.toThrow('timed out');
    server.resume();
    expect(await ping(server.url, 10_000)).toBe('PONG');
  });

  test('kill and restart: the same port and folder, an empty memory', async () => {
    await using server = await startRedis();
    const { port, directory, pid } = server;
    const redis = newRedis(server.url);
    await redis.set('key', 'value');
    redis.disconnect();

    await server.kill();
    expect(server.pid).toBeUndefined();
    await server.restart();
    expect(server).toMatchObject({ port, directory });
    expect(server.pid).not.toBe(pid);
    const after = newRedis(server.url);
    expect(await after.get('key')).toBeNull();
    after.disconnect();
  });

  test('stop leaves nothing, also of a paused or a killed server, also when called twice', async () => {
    const servers = await Promise.all([startRedis(), startRedis(), startRedis()]);
    servers[1]?.pause();
    await servers[2]?.kill();
    await Promise.all(servers.map((server) => server.stop()));
    await Promise.all(servers.map((server) => server.stop()));
    for (const { pid, port, directory } of servers) {
      expect(pid).toBeUndefined();
      expect(await accepts(port)).toBe(false);
      expect(existsSync(directory)).toBe(false);
    }
  });

  test('a server that does not come up says why and leaves nothing', async () => {
    await expect(startRedis({ args: ['--no-such-option', 'x'] })).rejects.toThrow(
      /redis-server ended.*no-such-option/s,
    );
    await using server = await startRedis();
    await expect(startRedis({ port: server.port })).rejects.toThrow(/already in use/);
  });

  test('nothing is left when the process that started it is killed', async () => {
    const servers = new URL('../scripts/lib/servers.mjs', import.meta.url).href;
    const script = `
      const { startRedis } = await import(${JSON.stringify(servers)});
      const { port, directory } = await startRedis();
      console.log(JSON.stringify({ port, directory }));
      process.kill(process.pid, 'SIGKILL');`;
    const died = await run(process.execPath, ['--input-type=module', '-e', script]).catch((error: unknown) => error);
    expect(died).toMatchObject({ signal: 'SIGKILL' });
    const { port, directory } = JSON.parse((died as { stdout: string }).stdout) as { port: number; directory: string };
    await waitFor(async () => !existsSync(directory) && !(await accepts(port)));
  });
});

describeWithMariadb('startMariadb', () => {
  test('starts a server with the empty database, and leaves nothing', async () => {
    const server = await startMariadb();
    try {
      const connection = await createConnection(server.url);
      const [tables] = await connection.query('SHOW TABLES');
      expect(tables).toEqual([]);
      await connection.end();
    } finally {
      await server.stop();
    }
    expect(await accepts(server.port)).toBe(false);
    expect(existsSync(server.directory)).toBe(false);
  });
});
