-- enqueue: add jobs of any kind.
-- ARGV: policy; then for each level, delay (µs), unique key ("" is none), its period (µs; 0 is
-- until the job has ended), record. Returns a list of numbers, negative when the job was there
-- already.

local J, W = jobs(), waiters()
local n = (#ARGV - 1) / 5
local given = {}
for _, key in ipairs(call('ZRANGEBYSCORE', PERIODS, '-inf', int(now), 'LIMIT', '0', '100')) do
  call('ZREM', PERIODS, key)
  call('HDEL', UNIQUE, 'k' .. key)
end
for i = 1, n do
  local at = 5 * i - 3
  local level, delay, key, period, record = tonumber(ARGV[at]), tonumber(ARGV[at + 1]), ARGV[at + 2], tonumber(ARGV[at + 3]),
    ARGV[at + 4]
  local there = key ~= '' and call('HGET', UNIQUE, 'k' .. key)
  if there and sub(there, 1, 1) == 'p' then
    local until_, id = match(there, '^p(%d+) (%d+)$')
    there = tonumber(until_) > now and id
  end
  if there then
    given[i] = '-' .. there
    count('duplicates')
  else
    local id = int(level * LEVEL + numbers(1))
    given[i] = id
    call('HSET', DATA, id, record)
    if key ~= '' and period > 0 then
      call('HSET', UNIQUE, 'k' .. key, 'p' .. int(now + period) .. ' ' .. id)
      call('ZADD', PERIODS, int(now + period), key)
    elseif key ~= '' then
      call('HSET', UNIQUE, 'k' .. key, id, 'j' .. id, key)
    end
    count('enqueued')
    if delay > 0 then
      call('ZADD', DELAYED, int(now + delay), id)
      W.soon(now + delay)
    elseif level > 0 then
      call('ZADD', RANKED, int(J.place(id)), id)
      W.wake()
    else
      call('RPUSH', READY, id)
      W.wake()
    end
  end
end
return given
