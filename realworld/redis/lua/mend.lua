-- mend: find what fell between the keys, as when somebody deleted or evicted one: a claim
-- without a lease whose job waits nowhere, a lease without a claim, a job that is nowhere.
-- The job is claimable again; a claim counts as expired.
-- ARGV: policy, "claims" (those only, and only once a lease) or "jobs", cursor.
-- Returns the next cursor (0 is the end) and how many jobs were found.

local J, W = jobs(), waiters()
local which, cursor = ARGV[2], ARGV[3]
local found = 0

-- nowhere mends one job that has data.
local function nowhere(id)
  local claim, lease = call('HGET', CLAIMS, id), call('ZSCORE', LEASES, id)
  if claim and lease or not lease and J.placed(id) then return end
  found = found + 1
  if claim then
    J.expire(id)
  else
    call('ZREM', LEASES, id)
    J.ready(id)
  end
end

if which == 'claims' then
  local last = call('HGET', META, 'mended')
  if cursor == '0' then
    if last and now - tonumber(last) < J.policy.lease then return { '0', 0 } end
    call('HSET', META, 'mended', int(now))
    local list = call('ZRANGE', LEASES, 0, 999)
    for _, id in ipairs(list) do
      if tonumber(id) and call('HEXISTS', CLAIMS, id) == 0 then
        if call('HEXISTS', DATA, id) == 1 then nowhere(id) else call('ZREM', LEASES, id) end
      end
    end
  end
end
local key = which == 'claims' and CLAIMS or DATA
local page = call('HSCAN', key, cursor, 'COUNT', 500)
for i = 1, #page[2], 2 do
  local id = page[2][i]
  if not tonumber(id) then
    -- the long one that keeps the key a hash table
  elseif call('HEXISTS', DATA, id) == 1 then
    nowhere(id)
  else
    call('HDEL', CLAIMS, id)
    call('ZREM', LEASES, id)
  end
end
if found > 0 then W.wake() end
return { page[1], found }
