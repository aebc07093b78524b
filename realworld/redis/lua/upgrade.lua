-- upgrade: what is stored has another schema from now on. KEYS: queues. ARGV: schema, or "" to
-- look only. Returns the schema that is stored, then each queue's name and partitions.

local QUEUES = KEYS[1]
if ARGV[1] ~= '' then redis.call('HSET', QUEUES, 'schema', ARGV[1]) end
local said = { redis.call('HGET', QUEUES, 'schema') }
local all = redis.call('HGETALL', QUEUES)
for i = 1, #all, 2 do
  local name = string.match(all[i], '^p:(.*)$')
  if name then said[#said + 1], said[#said + 2] = name, all[i + 1] end
end
return said
