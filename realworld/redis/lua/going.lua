-- going: an incarnation will stop. It gets no new claims, and expiry of those it has is an
-- interruption. ARGV: policy, member. Returns 1 when it waited for jobs.

local W = waiters()
local m = member(ARGV[2])
if not m then return 0 end
local waited = m.parked > 0
m.going = true
if waited then
  m.parked, m.closed = 0, m.seq
  W.came()
  W.leave(m.id)
end
keep(m)
if W.waiting() and call('EXISTS', READY, RANKED) > 0 then W.wake() end
return waited and 1 or 0
