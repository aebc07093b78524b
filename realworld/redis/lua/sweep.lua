-- sweep: take in what became so by the passing of time. ARGV: policy. Returns whether there
-- may be more.

local W = waiters()
jobs().sweep()
if W.waiting() and call('EXISTS', READY, RANKED) > 0 then W.wake() end
local lease = tonumber(call('ZRANGE', LEASES, 0, 0, 'WITHSCORES')[2] or 'inf')
local due = tonumber(call('ZRANGE', DELAYED, 0, 0, 'WITHSCORES')[2] or 'inf')
return math.min(lease, due) <= now and 1 or 0
