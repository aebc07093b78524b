-- abandon: a worker is known to be dead. Its leases are over, and it gets no new claims.
-- ARGV: policy, member. Returns how many claims it held.

local J, W = jobs(), waiters()
local m = member(ARGV[2])
local list = call('ZRANGE', LEASES, 0, -1)
local n, from = 0, 1
while from <= #list do
  local some = {}
  for i = from, math.min(from + 999, #list) do some[#some + 1] = list[i] end
  from = from + 1000
  local held = call('HMGET', CLAIMS, unpack(some))
  for i, claim in ipairs(held) do
    if claim and claim ~= '' then
      local _, _, holder = J.parts(claim)
      if holder == ARGV[2] then
        J.expire(some[i])
        n = n + 1
      end
    end
  end
end
if m then
  m.going, m.closed, m.parked = true, m.seq, 0
  keep(m)
  W.leave(m.id)
end
return n
