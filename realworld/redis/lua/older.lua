-- older: which lives of older builds are about: those that hold a claim, or were seen lately
-- and did not say that they would stop.
-- ARGV: policy, schema, "look" or "end", what lately is (µs). With "end" the partition is of
-- that schema from now on, and older lives get no new claims. Returns seats.

local J = jobs()
local schema, recent = tonumber(ARGV[2]), now - tonumber(ARGV[4])
local holders = {}
local list = call('ZRANGE', LEASES, 0, -1)
for from = 1, #list, 1000 do
  local held = call('HMGET', CLAIMS, unpack(list, from, math.min(from + 999, #list)))
  for _, claim in ipairs(held) do
    if claim and claim ~= '' then
      local _, _, holder = J.parts(claim)
      holders[holder] = true
    end
  end
end

local seats = {}
local members = call('HGETALL', MEMBERS)
for i = 1, #members, 2 do
  local id = match(members[i], '^v:(%d+)$')
  if id and tonumber(members[i + 1]) < schema then
    local m = member(id)
    if ARGV[3] == 'end' then
      if m then
        m.going, m.closed, m.parked = true, m.seq, 0
        keep(m)
        waiters().leave(id)
      end
    elseif holders[id] or m and not m.going and tonumber(call('ZSCORE', SEEN, id) or 0) > recent then
      seats[#seats + 1] = sub(call('HGET', MEMBERS, 'i:' .. id) or 's:?', 3)
    end
  end
end
if ARGV[3] == 'end' then call('HSET', META, 'schema', schema) end
return seats
