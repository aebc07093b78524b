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

-- Who waits for jobs, and how they are woken.
local waiters = once(function()
  -- wake gives one of those who wait a reason to look again; it wakes the next if there is
  -- still something to have. With an owner's generation it prefers a worker of a newer one, as
  -- far as those of the newest wait. Hops is how many are to pass it on that find nothing.
  -- They are woken one after the other, so that who waits longest is served first; one that
  -- does not come within PATIENCE has died, and the next is woken.
  local PATIENCE = 5000
  local woken = false
  local function wake(generation, hops)
    if woken and not hops then return end
    local since = call('HGET', META, 'waking')
    if since and now - tonumber(since) < PATIENCE then return end
    local key
    if generation and call('EXISTS', NEWER) == 1 and tonumber(call('HGET', META, 'newest') or 0) > tonumber(generation) then
      key = WAKENEWER
    elseif call('EXISTS', WAITERS, NEWER) > 0 then
      key = WAKE
    end
    woken = true
    if not key or call('LLEN', key) > 0 then return end
    call('RPUSH', key, int(hops or 0))
    call('HSET', META, 'waking', int(now))
  end

  -- came takes in that somebody who waited looks again.
  local function came()
    call('HDEL', META, 'waking')
    woken = false
  end

  local function waiting() return call('EXISTS', WAITERS, NEWER) > 0 end

  local function unwait(id)
    if call('ZREM', WAITERS, id) == 0 then call('ZREM', NEWER, id) end
  end

  -- The keeper is the one among those who wait that looks after what becomes claimable by the
  -- passing of time: its number and the instant it sleeps until.
  local function keeper()
    local k = call('HGET', META, 'keeper')
    if not k then return nil end
    local id, at = match(k, '^(%d+) (%d+)$')
    return id, tonumber(at)
  end

  -- soon says that something will be claimable at an instant.
  local function soon(at)
    if not waiting() then return end
    local id, sleeps = keeper()
    if not id or sleeps > at then wake() end
  end

  -- leave takes a member out of those who wait, and hands on what it had to look after.
  local function leave(id)
    unwait(id)
    if keeper() == id then
      call('HDEL', META, 'keeper')
      wake()
    end
  end

  return { wake = wake, waiting = waiting, soon = soon, leave = leave, came = came, keeper = keeper }
end)
