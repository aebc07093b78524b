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
