-- look: where a job stands. ARGV: policy, id.
-- Returns nothing, or "done" or "cancelled" alone, or state, record, deliveries, failures, poison, fruitless, due or end of
-- the lease (µs), cancel, class, message, build.

local J = jobs()
local id = ARGV[2]
local record = call('HGET', DATA, id)
if not record then
  local verb = J.endedAs(id)
  return verb and { verb == J.ACK and 'done' or 'cancelled' }
end
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
return { state, record, s[J.DELIVERIES], s[J.FAILURES], s[J.POISON], s[J.FRUITLESS], int(tonumber(at)), wanted, s[J.CLASS], s[J.MESSAGE],
  s[J.BUILD] }
