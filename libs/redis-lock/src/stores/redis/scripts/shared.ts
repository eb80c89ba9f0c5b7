/**
 * `now`: the server's clock in µs, read once a script; `text(n)`: a number of 16 digits in full, which tostring is not.
 */
export const CLOCK = /* lua */ `
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local function text(n) return string.format('%.0f', n) end
`;

/** The field of a hold that is over but rests until minHold is; nobody adopts, renews or releases it. */
export const REST_FIELD = '@rest';

/** `holdOf(member)`: the field \`<member>/<token>\` of a member and the token, or nothing. */
export const HOLD_OF = /* lua */ `
local function holdOf(member)
  for _, field in ipairs(redis.call('HKEYS', KEYS[1])) do
    if string.sub(field, 1, #member + 1) == member .. '/' then
      return field, string.sub(field, #member + 2)
    end
  end
end
`;
