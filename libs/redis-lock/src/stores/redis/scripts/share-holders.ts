import type { Holders } from '../../lock-store.js';
import { defineScript } from '../script.js';
import { CLOCK, REST_FIELD } from './shared.js';
import { NAME } from './shares.js';

type HoldersAnswer = [
  queued: number,
  ...holders: [member: string, token: string, permits: number, remainingMs: number][],
];

/**
 * Who holds a lock with shares. It changes nothing.
 *
 * KEYS  1 holders (zset), 2 queue (zset)
 * Answer: how many wait, then the holders
 */
export const shareHoldersScript = defineScript<readonly [], HoldersAnswer, Holders>(
  /* lua */ `${CLOCK}${NAME}
local answer = {redis.call('ZCARD', KEYS[2])}
local holders = redis.call('ZRANGE', KEYS[1], 0, -1, 'WITHSCORES')
for i = 1, #holders, 2 do
  local left = math.ceil(holders[i + 1] - now / 1000)
  local member, token = ownerOf(holders[i])
  if left > 0 then answer[#answer + 1] = {member, token, permitsOf(holders[i]), left} end
end
return answer
`,
  ([queued, ...holders]) => ({
    queued,
    permits: holders.reduce((sum, [, , permits]) => sum + permits, 0),
    holders: holders
      .filter(([member]) => !member.startsWith(REST_FIELD))
      .map(([holder, token, permits, remainingMs]) => ({
        holder,
        token: Number(token),
        permits,
        heldSince: Math.floor(Number(token) / 1000),
        remainingMs,
      })),
  }),
);
