-- withdraw: close a claim request; what was handed out under it goes back.
-- ARGV: policy, member, seq. Returns how many jobs went back.

local J, W = jobs(), waiters()
local m, seq = member(ARGV[2]), tonumber(ARGV[3])
if not m then return 0 end
local freed = 0
if m.parked > 0 and m.seq <= seq then
  m.parked = 0
  W.came()
  W.leave(m.id)
end
if seq == m.seq and seq > m.closed then
  J.eachGrant(m, function(id, tok)
    if call('HGET', CLAIMS, id) and J.settle(id, tok, J.RELEASE, J.WITHDRAWN, 0) == 'o' then freed = freed + 1 end
  end)
  m.grants = ''
end
m.closed = math.max(m.closed, seq)
keep(m)
if W.waiting() and call('EXISTS', READY, RANKED) > 0 then W.wake() end -- it may have been woken in vain
return freed
