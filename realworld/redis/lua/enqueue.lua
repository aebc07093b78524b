-- enqueue: add jobs.
-- ARGV: policy, kinds of job: "plain" and records; or "mixed" and for each level, delay
-- (µs), unique key ("" is none), its period (µs; 0 is until the job has ended), record.
-- Returns the number of the first when they are plain; else a list of numbers, negative
-- when the job was there already.

-- stamp notes once a second which number is given out: that is how the age of a job is known,
-- without its costing a byte. Of older notes those are kept that tell an age to a hundredth.
local function stamp(number)
  local last = call('HGET', META, 'stamped')
  if last and now - tonumber(last) < 1000000 then return end
  call('HSET', META, 'stamped', int(now))
  call('ZADD', TIMES, int(number), int(now))
  if call('ZCARD', TIMES) <= 2000 then return end
  local kept, gone = now, {}
  for _, at in ipairs(call('ZREVRANGE', TIMES, 0, -2)) do -- all but the first
    local t = tonumber(at)
    if kept - t < (now - t) / 100 then gone[#gone + 1] = at else kept = t end
  end
  if #gone > 0 then call('ZREM', TIMES, unpack(gone)) end
end

-- numbers takes the next n numbers of the partition, and returns the first.
local function numbers(n)
  local first = call('HINCRBY', META, 'seq', n) - n + 1
  stamp(first)
  return first
end

if ARGV[2] == 'plain' then
  local n = #ARGV - 2
  local first = numbers(n)
  local data, list = {}, {}
  for i = 1, n do
    local id = int(first + i - 1)
    data[2 * i - 1], data[2 * i], list[i] = id, ARGV[i + 2], id
  end
  call('HSET', DATA, unpack(data))
  call('RPUSH', READY, unpack(list))
  count('enqueued', n)
  if call('EXISTS', WAITERS, NEWER) > 0 then waiters().wake() end
  return first
end

local J, W = jobs(), waiters()
local n = (#ARGV - 2) / 5
local given = {}
for _, key in ipairs(call('ZRANGEBYSCORE', PERIODS, '-inf', int(now), 'LIMIT', 0, 100)) do
  call('ZREM', PERIODS, key)
  call('HDEL', UNIQUE, 'k' .. key)
end
for i = 1, n do
  local at = 5 * i - 2
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
