-- look: where a job stands. ARGV: policy, id.
-- Returns nothing, or "done" or "cancelled" alone, or a row.

local id = ARGV[2]
local record = call('HGET', DATA, id)
if record then return row(id, record) end
local verb = jobs().endedAs(id)
return verb and { verb == jobs().ACK and 'done' or 'cancelled' }
