-- requeue: make dead-lettered and quarantined jobs claimable again, or end them for good.
-- ARGV: policy, what is to be done ("requeue" or "discard"), ids. Returns how many of them.

local J, n = jobs(), 0
for i = 3, #ARGV do
  local id = ARGV[i]
  if call('ZSCORE', DEAD, id) or call('ZSCORE', QUARANTINED, id) then
    n = n + 1
    local s = J.load(id)
    if ARGV[2] == 'requeue' then
      revive(id, s)
    else
      J.unplace(id)
      J.cancel(id, s)
    end
  end
end
return n
