-- What a claim request takes, and what it was granted, when it is not the usual.

local claims = once(function()
  local J, W = jobs(), waiters()
  local AFTER, LAST = 4 * LEVEL, 8 * LEVEL -- places behind those of normal jobs

  -- pick adds jobs that were taken out of the queue to what is granted. What this worker does
  -- not understand is put aside for one that does, once: it is found there by its kind.
  local function pick(list, returned)
    local found = call('HMGET', DATA, unpack(list))
    for i = 1, #list do
      local id, record = list[i], found[i]
      if not record then
        count('ghosts', -1) -- it was cancelled while it waited
      elseif fits(record) then
        taken = taken + 1
        ids[taken], records[taken], old[taken] = id, record, returned
      else
        call('ZADD', ASIDE, 0, J.asideAs(id, record))
        misfits = misfits + 1
      end
    end
  end

  local function takeAside(low, high, want)
    local found = {}
    local function look(from, to)
      for _, m in ipairs(call('ZRANGEBYLEX', ASIDE, from, to, 'LIMIT', 0, want)) do
        local at, id = match(m, '\t(%d+)\t(%d+)$')
        at = tonumber(at)
        if at >= low and at < high then found[#found + 1] = { at, id, m } end
      end
    end
    if KINDS == '' then
      look('-', '+')
    else
      for kind, least, most in string.gmatch(KINDS, '([^\t\n]*)\t(%d+)\t(%d+)q?\n') do
        look(string.format('[%s\t%05d\t', kind, least), string.format('[%s\t%05d\t\255', kind, most))
      end
    end
    table.sort(found, function(a, b) return a[1] < b[1] end)
    local list = {}
    for i = 1, math.min(want, #found) do
      list[i] = found[i][2]
      call('ZREM', ASIDE, found[i][3])
    end
    if #list > 0 then pick(list, true) end
  end

  local function takeRanked(low, high, want)
    for _ = 1, 4 do -- misfits are put aside, a few rounds of them at most
      local list = call('ZRANGEBYSCORE', RANKED, int(low), '(' .. int(high), 'LIMIT', 0, int(want - taken))
      if #list == 0 then return end
      call('ZREM', RANKED, unpack(list))
      pick(list, true)
      if taken >= want then return end
    end
  end

  local function takeSpecial(low, high, want)
    if taken < want and call('EXISTS', ASIDE) == 1 then takeAside(low, high, want - taken) end
    if taken < want and call('EXISTS', RANKED) == 1 then takeRanked(low, high, want) end
  end

  -- take takes up to want jobs: those that came back first, then the others in their order.
  local function take(want)
    takeSpecial(0, AFTER, want)
    for _ = 1, 8 do
      if taken >= want then return end
      local list = call('LPOP', READY, int(want - taken))
      if not list then break end
      pick(list, false)
    end
    takeSpecial(AFTER, LAST, want)
  end

  -- extra is what a grant has beyond its record when it is not the first of its job.
  local function extra(i, tok, s) return { i - 1, tok, s[J.PRIOR] or '', s[J.WHY], s[J.CURSOR] and 1 or 0, s[J.CURSOR] or '' } end

  -- retoken gives a job that was claimed before a token larger than its last, and says what
  -- its holder should know.
  local function retoken(i)
    local s = call('HGET', STATE, ids[i])
    if not s then return nil end
    s = cmsgpack.unpack(s)
    local tok = token(math.max(tonumber(s[J.TOKEN]) + 1, now))
    return tok, extra(i, tok, s)
  end

  -- again collects those grants of m's newest request that still hold.
  local function again(m)
    local extras = {}
    J.eachGrant(m, function(id, tok)
      local claim, lease, record = call('HGET', CLAIMS, id), call('ZSCORE', LEASES, id), call('HGET', DATA, id)
      if claim and record and sub(claim, 1, 16) == tok and lease and tonumber(lease) > now then
        taken = taken + 1
        ids[taken], records[taken] = id, record
        extras[taken] = extra(taken, tok, J.load(id))
      end
    end)
    return extras
  end

  -- wait enters m among those who wait and returns how long it may sleep, and whether it is
  -- of the newest generation. Who hears first of something that will be claimable before it
  -- would give up is the keeper and sleeps until then; the others sleep on a while, should
  -- the keeper be dead by then.
  local GRACE = 2000000
  local function wait(m, park)
    local done = m.parked + park
    local newest = tonumber(call('HGET', META, 'newest') or 0)
    local newer = tonumber(m.generation) >= newest and 1 or 0
    call('ZADD', newer == 1 and NEWER or WAITERS, int(done), m.id)
    local lease = tonumber(call('ZRANGE', LEASES, 0, 0, 'WITHSCORES')[2] or 'inf')
    local due = tonumber(call('ZRANGE', DELAYED, 0, 0, 'WITHSCORES')[2] or 'inf')
    local at = math.min(lease, due)
    if at >= done then return int(done - now), newer end
    local id, sleeps = W.keeper()
    if not id or id == m.id or sleeps > at or sleeps + GRACE < now then
      call('HSET', META, 'keeper', m.id .. ' ' .. int(at))
      return int(math.max(at - now, 0)), newer
    end
    return int(math.min(done, math.max(at, now) + GRACE) - now), newer
  end

  return { take = take, pick = pick, retoken = retoken, again = again, wait = wait }
end)
