-- renew: extend the leases of open claims, and keep the cursors that ride along.
-- ARGV: policy, extend (1 or 0); then for each id, token, cursor ("" is none, else "c" and
-- the cursor). Returns codes.

local J = jobs()
local n = (#ARGV - 2) / 3
local list = {}
for i = 1, n do list[i] = ARGV[3 * i] end
local held, leases = call('HMGET', CLAIMS, unpack(list)), call('ZMSCORE', LEASES, unpack(list))
local codes, extended, expiry = {}, {}, int(now + J.policy.lease)
for i = 1, n do
  local id, tok, cursor, claim = list[i], ARGV[3 * i + 1], ARGV[3 * i + 2], held[i]
  if claim and sub(claim, 1, 16) == tok then
    if leases[i] and tonumber(leases[i]) > now then
      codes[i] = ARGV[2] == '1' and sub(claim, 17, 17) == 'c' and 'x' or 'o'
      extended[#extended + 1], extended[#extended + 2] = expiry, id
      if cursor ~= '' then
        local s = J.load(id)
        s[J.CURSOR], s[J.POISON], s[J.FRUITLESS] = sub(cursor, 2), 0, 0
        J.store(id, s)
      end
    else
      codes[i] = 'e'
    end
  else
    local was = J.closedAs(id, tok, claim)
    codes[i] = not was and 's' or was == J.NONE and 'e' or 'c'
  end
end
if #extended > 0 and ARGV[2] == '1' then call('ZADD', LEASES, 'XX', 'GT', unpack(extended)) end
return table.concat(codes)
