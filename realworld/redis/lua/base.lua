-- Names, numbers, and the rows of members: what every script begins with.
--
-- A function costs when it is made, and more so the more it refers to. What most calls have
-- no need of is therefore made by a function of its own, once it is needed.

local META, READY, DATA, WAITERS, NEWER, WAKE, WAKENEWER, TIMES,
  RANKED, ASIDE, DELAYED, STATE, CLAIMS, LEASES, MEMBERS, SEEN, DEAD, QUARANTINED, ENDED, UNIQUE, PERIODS, STARVING = unpack(KEYS)

local RING = 1048576 -- jobs that ended are remembered until so many others of the partition were enqueued
local LEVEL = 17592186044416 -- 2^44: a job's number is level * LEVEL + its number in the partition

local call, sub, match, floor, format = redis.call, string.sub, string.match, math.floor, string.format

-- Numbers go to Redis as strings of digits: Lua's own format has fourteen. Formatting a float is
-- dear, and nine digits fit the integers of any server.
local function int(n)
  if n == 0 then return '0' end
  if n < 1000000000 then return format('%d', n) end
  return format('%d%09d', floor(n / 1000000000), n % 1000000000)
end

local function count(what, n) call('HINCRBY', META, what, n and int(n) or '1') end

local function once(make)
  local made
  return function()
    made = made or make()
    return made
  end
end

-- A token is always sixteen digits.
local NOTOKEN = '0000000000000000'
local function token(n) return format('%07d%09d', floor(n / 1000000000), n % 1000000000) end

-- A member is one life of a worker: "seq closed parkedAt parkedFor seen going
-- generation", and
-- on the next line what its newest request was granted, "token:id,id;token:id".
local function member(id)
  local row = call('HGET', MEMBERS, id)
  if not row then return nil end
  local seq, closed, at, lasted, seen, going, generation, grants = match(row,
    '^(%d+) (%d+) (%d+) (%d+) (%d+) (%d) (%d+)\n(.*)$')
  return { id = id, seq = tonumber(seq), closed = tonumber(closed), parked = tonumber(at), lasted = tonumber(lasted),
    seen = seen, going = going == '1', generation = generation, grants = grants } -- seen are digits, for it changes seldom
end

local function keep(m)
  call('HSET', MEMBERS, m.id, int(m.seq) .. ' ' .. int(m.closed) .. ' ' .. int(m.parked) .. ' ' .. int(m.lasted) .. ' ' ..
    m.seen .. (m.going and ' 1 ' or ' 0 ') .. m.generation .. '\n' .. m.grants)
end
