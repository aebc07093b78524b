-- cancel: an operator's wish. ARGV: policy, id. Returns "cancelled", "asked" when a holder
-- must come to obey first, or "ended" when there is nothing to cancel.

local J = jobs()
local id = ARGV[2]
local claim = call('HGET', CLAIMS, id)
if claim and call('ZSCORE', LEASES, id) then
  call('HSET', CLAIMS, id, sub(claim, 1, 16) .. 'c' .. sub(claim, 18))
  return 'asked'
end
if call('HEXISTS', DATA, id) == 0 or call('ZSCORE', DEAD, id) or call('ZSCORE', QUARANTINED, id) then return 'ended' end
local s = J.load(id)
if not J.unplace(id) and call('LLEN', READY) > 0 then
  if call('LLEN', READY) > 10000 or call('LREM', READY, 1, id) == 0 then count('ghosts') end
end
J.cancel(id, s)
return 'cancelled'
