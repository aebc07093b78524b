-- open: agree on the schema and on the number and the partitions of a queue. KEYS: queues.
-- ARGV: schema, name, the number to begin the search with, partitions.
-- Returns the schema of what is stored, the queue's number (0 when there are no more), and its
-- partitions; the schema alone when this build cannot work on it.

local QUEUES = KEYS[1]
local schema = redis.call('HGET', QUEUES, 'schema')
if not schema then
  schema = ARGV[1]
  redis.call('HSET', QUEUES, 'schema', schema)
end
if tonumber(schema) > tonumber(ARGV[1]) or tonumber(schema) < tonumber(ARGV[1]) - 1 then return { schema } end
local number = redis.call('HGET', QUEUES, 'q:' .. ARGV[2])
if not number then
  number = tonumber(ARGV[3])
  local tried = 0
  while redis.call('HEXISTS', QUEUES, 'n:' .. number) == 1 do
    number, tried = number % 2047 + 1, tried + 1
    if tried == 2047 then return { schema, '0', '0' } end
  end
  redis.call('HSET', QUEUES, 'q:' .. ARGV[2], number, 'n:' .. number, ARGV[2])
end
local partitions = math.max(tonumber(redis.call('HGET', QUEUES, 'p:' .. ARGV[2]) or 1), tonumber(ARGV[4]))
redis.call('HSET', QUEUES, 'p:' .. ARGV[2], partitions)
return { schema, tostring(number), tostring(partitions) }
