-- add: add jobs that go behind the others and nowhere else. It is given the first eight keys.
-- ARGV: records. Returns the number of the first.

local n = #ARGV
local first = numbers(n)
local data, list = {}, {}
for i = 1, n do
  local id = int(first + i - 1)
  data[2 * i - 1], data[2 * i], list[i] = id, ARGV[i], id
end
call('HSET', DATA, unpack(data))
call('RPUSH', READY, unpack(list))
count('enqueued', n)
if call('EXISTS', WAITERS, NEWER) > 0 then waiters().wake() end
return first
