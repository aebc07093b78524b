-- What is said about a job.

-- since returns when a job was added, to a second and a hundredth of its age, or 0.
local function since(id)
  return call('ZREVRANGEBYSCORE', TIMES, int(tonumber(id) % LEVEL), '-inf', 'LIMIT', '0', '1')[1] or '0'
end

-- row is state, record, deliveries, failures, poison, fruitless, due or end of the lease or
-- since when (µs), cancel, class, message, build, when it was added (µs).
local function row(id, record)
  local J = jobs()
  local claim, lease, at = call('HGET', CLAIMS, id), call('ZSCORE', LEASES, id), '0'
  local s, state, wanted = J.load(id), 'ready', 0
  if lease then
    state, at, s[J.DELIVERIES] = 'claimed', lease, s[J.DELIVERIES] + 1
    wanted = sub(claim or '', 17, 17) == 'c' and 1 or 0
  elseif call('ZSCORE', DELAYED, id) then
    state, at = 'delayed', call('ZSCORE', DELAYED, id)
  elseif call('ZSCORE', DEAD, id) then
    state, at = 'dead', call('ZSCORE', DEAD, id)
  elseif call('ZSCORE', QUARANTINED, id) then
    state, at = 'quarantined', call('ZSCORE', QUARANTINED, id)
  end
  return { state, record, s[J.DELIVERIES], s[J.FAILURES], s[J.POISON], s[J.FRUITLESS], int(tonumber(at)), wanted, s[J.CLASS],
    s[J.MESSAGE], s[J.BUILD], since(id) }
end
