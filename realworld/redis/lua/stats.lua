-- stats: a partition in numbers. ARGV: policy.
-- Returns ready, returned, aside, delayed, claimed, dead, quarantined, starving, waiting, the age
-- of the oldest ready job (µs), and what was counted, name by name.

local J = jobs()
local leases = call('ZCARD', LEASES)
if leases > 0 and call('ZRANGE', LEASES, -1, -1, 'WITHSCORES')[2] == 'inf' then leases = leases - 1 end
local ready = math.max(call('LLEN', READY) - tonumber(call('HGET', META, 'ghosts') or 0), 0)
local ranked, aside = call('ZCARD', RANKED), call('ZCARD', ASIDE)

-- The oldest of each priority is the first of it.
local oldest
local function older(id)
  if id and (not oldest or tonumber(id) % LEVEL < tonumber(oldest) % LEVEL) then oldest = id end
end
older(call('LINDEX', READY, 0))
for level = 0, 6 do older(call('ZRANGEBYSCORE', RANKED, int(level * LEVEL), '(' .. int((level + 1) * LEVEL), 'LIMIT', '0', '1')[1]) end
local age = 0
if oldest then
  local at = tonumber(call('ZREVRANGEBYSCORE', TIMES, int(tonumber(oldest) % LEVEL), '-inf', 'LIMIT', '0', '1')[1] or now)
  age = math.max(now - at, 0)
end

local totals = {}
for _, name in ipairs({ 'enqueued', 'duplicates', 'done', 'failed', 'released', 'refused', 'expired', 'cut', 'cancelled', 'dead',
  'quarantined', 'starving', 'redriven' }) do
  totals[#totals + 1], totals[#totals + 2] = name, tonumber(call('HGET', META, name) or 0)
end
return { ready + ranked + aside, call('ZCOUNT', RANKED, int(3 * LEVEL), '(' .. int(4 * LEVEL)), aside, call('ZCARD', DELAYED), leases,
  call('ZCARD', DEAD), call('ZCARD', QUARANTINED), call('ZCARD', STARVING), call('ZCARD', WAITERS) + call('ZCARD', NEWER), int(age), totals }
