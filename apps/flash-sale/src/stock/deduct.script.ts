/**
 * Takes a quantity from a product's stock, unless a later holder of the lock has written it already. Comparing the fencing token and
 * writing are one atomic step.
 *
 * KEYS  1 product (hash: stock, fence)
 * ARGV  1 fencing token, 2 quantity
 * Answer: the stock that is left, or 'stale', or 'insufficient'
 */
export const deductScript = /* lua */ `
if tonumber(redis.call('HGET', KEYS[1], 'fence') or 0) > tonumber(ARGV[1]) then return 'stale' end
local left = tonumber(redis.call('HGET', KEYS[1], 'stock') or 0) - tonumber(ARGV[2])
if left < 0 then return 'insufficient' end
redis.call('HSET', KEYS[1], 'stock', left, 'fence', ARGV[1])
return left
`;

export type DeductReply = number | 'stale' | 'insufficient';
