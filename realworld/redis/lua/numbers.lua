-- The numbers of jobs that are added, and when they were given out.

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
  local first = call('HINCRBY', META, 'seq', int(n)) - n + 1
  stamp(first)
  return first
end
