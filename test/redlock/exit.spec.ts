import { expect, test } from '@jest/globals';
import { ChildProcess } from '../cases/support/child-process.js';
import { describeWithRedisServer } from '../support/redis.js';
import { RedlockServers } from './support/servers.js';

describeWithRedisServer('A process that has used Redlock', () => {
  const servers = RedlockServers.use(3);

  test.each(['lives', 'is dead', 'hangs'])('ends by itself when a node %s', async (how) => {
    const last = servers.servers[2];
    if (how === 'is dead') await last?.kill();
    if (how === 'hangs') last?.pause();
    const process = ChildProcess.start('node-user.mjs', { nodes: servers.urls, prefix: servers.prefix });
    try {
      expect(await process.said('closed')).toEqual({ event: 'closed', outcomes: { done: 20 } });
      expect(await process.exit()).toEqual({ code: 0, signal: null });
      expect(process.errors).toBe('');
    } finally {
      process.kill('SIGKILL');
      last?.resume();
      if (how === 'is dead') await last?.start();
    }
    await servers.expectNothingLeft();
  });
});
