-- What becomes of jobs whose claims end.
local jobs = once(function()
  -- What the process that calls has set for the queue, times in µs.
  local POLICY = {}
  POLICY.lease, POLICY.failures, POLICY.poison, POLICY.starving, POLICY.quarantines, POLICY.backoff, POLICY.longest =
    string.match(ARGV[1], '^(%d+) (%d+) (%d+) (%d+) (%d) (%d+) (%d+)$')
  for k, v in pairs(POLICY) do POLICY[k] = tonumber(v) end
  POLICY.quarantines = POLICY.quarantines == 1

  local W = waiters()
  local wake, soon = W.wake, W.soon

  -- The number of a job is level * 2^44 + its number in the queue. The place of a job sorts
  -- the levels 3, 2, 1 before 0, and 4, 5, 6 after it.
  local order = { [0] = 3, 2, 1, 0, 4, 5, 6 }
  local function place(id)
    local n = tonumber(id)
    return order[floor(n / LEVEL)] * LEVEL + n % LEVEL
  end

  -- Verbs and reasons are numbered as in package protocol.
  local NONE, ACK, RELEASE, FAIL, REFUSE, QUARANTINE = 0, 1, 2, 3, 4, 5
  local LATE, WITHDRAWN, REFUSED, BUSY, CANCELLED, EXPIRED, CUT = 4, 5, 6, 7, 9, 10, 11

  -- The state of a job that is no longer as it was enqueued. Token and verb are those of its
  -- newest claim that ended; prior is the newest that may have been an execution.
  local TOKEN, VERB, REASON, DELIVERIES, FAILURES, POISON, FRUITLESS, PRIOR, WHY, CURSOR, CLASS, MESSAGE, BUILD = 1, 2, 3,
    4, 5, 6, 7, 8, 9, 10, 11, 12, 13

  local function load(id)
    local s = call('HGET', STATE, id)
    if s then return cmsgpack.unpack(s) end
    return { NOTOKEN, NONE, 0, 0, 0, 0, 0, false, 0, false, '', '', '' }
  end

  -- starve lists a job that is interrupted again and again, until it gets on or ends.
  local some
  local function starve(id, fruitless)
    if POLICY.starving > 0 and fruitless >= POLICY.starving then
      some = true
      call('ZADD', STARVING, 'NX', int(now), id)
    else
      if some == nil then some = call('EXISTS', STARVING) == 1 end
      if some then call('ZREM', STARVING, id) end
    end
  end

  -- Deliveries are the claims that ended or expired.
  local function store(id, s, over)
    call('HSET', STATE, id, cmsgpack.pack(s))
    starve(id, over and 0 or s[FRUITLESS])
  end

  -- A claim: token, "c" when an operator wants the job cancelled, its holder and generation,
  -- and " q" when the end of its lease means quarantine.
  local function parts(claim)
    local holder, generation, parks = match(claim, '^(%d+):(%d+)(.*)', 18)
    return sub(claim, 1, 16), sub(claim, 17, 17) == 'c', holder, generation, parks == ' q'
  end

  -- What ended is remembered in a ring of eight bytes a job: token, verb (and 8), and what
  -- tells the job from others with the same place in the ring.
  local function ended(id, tok, verb)
    local n, t = tonumber(id), tonumber(tok)
    call('SETRANGE', ENDED, int(n % RING * 8), struct.pack('>I4I4', floor(t / 1048576) % 4294967296,
      (t % 1048576) * 4096 + (8 + verb) * 256 + floor(n / RING) % 256))
  end

  -- endedAs returns the verb of a job's last claim, and its token as far as it is kept, or
  -- nil when the job did not end or that is forgotten.
  local function endedAs(id)
    local n = tonumber(id)
    local at = n % RING * 8
    local r = call('GETRANGE', ENDED, int(at), int(at + 7))
    if #r < 8 then return nil end
    local high, low = struct.unpack('>I4I4', r)
    local verb = floor(low / 256) % 16
    if verb < 8 or low % 256 ~= floor(n / RING) % 256 then return nil end
    return verb - 8, high * 1048576 + floor(low / 4096)
  end

  local function asideAs(id, record)
    local kind, version = match(record, '^([^\n\t]*)\t(%d+)')
    return string.format('%s\t%05d\t%017.0f\t%s', kind, version, place(id), id)
  end

  -- unplace takes a job out of wherever it waits.
  local function unplace(id)
    if call('ZREM', RANKED, id) + call('ZREM', DELAYED, id) + call('ZREM', DEAD, id) + call('ZREM', QUARANTINED, id) > 0 then
      return true
    end
    if call('EXISTS', ASIDE) == 1 then
      local record = call('HGET', DATA, id)
      return record and call('ZREM', ASIDE, asideAs(id, record)) > 0
    end
    return false
  end

  -- placed reports whether a job waits somewhere. Those that nobody has claimed yet are in
  -- READY, in their order.
  local function placed(id)
    if call('ZSCORE', RANKED, id) or call('ZSCORE', DELAYED, id) or call('ZSCORE', DEAD, id) or call('ZSCORE', QUARANTINED, id) then
      return true
    end
    local first = call('LINDEX', READY, 0)
    if first and tonumber(id) >= tonumber(first) and tonumber(id) <= tonumber(call('LINDEX', READY, -1)) then return true end
    local record = call('EXISTS', ASIDE) == 1 and call('HGET', DATA, id)
    return record and call('ZSCORE', ASIDE, asideAs(id, record)) and true or false
  end

  -- free lets go of the unique key of a job that ended, unless it was taken for a period.
  local function free(id)
    local key = call('HGET', UNIQUE, 'j' .. id)
    if not key then return end
    call('HDEL', UNIQUE, 'j' .. id)
    local holder = call('HGET', UNIQUE, 'k' .. key)
    if holder == id then call('HDEL', UNIQUE, 'k' .. key) end
  end

  -- finish takes a job out for good.
  local function finish(id, tok, verb)
    call('HDEL', DATA, id)
    call('HDEL', STATE, id)
    call('HDEL', CLAIMS, id)
    if call('EXISTS', UNIQUE) == 1 then free(id) end
    starve(id, 0)
    ended(id, tok, verb)
  end

  local function cancel(id, s)
    finish(id, s[TOKEN], s[VERB])
    count('cancelled')
  end

  local function ready(id, generation)
    call('ZADD', RANKED, int(place(id)), id)
    wake(generation or '0')
  end

  -- putBack puts a job where it belongs now that nobody holds it. An operator's cancel that
  -- its holder did not come to obey is carried out here, not handed to the next one.
  local function putBack(id, s, delay, wanted, generation)
    if wanted then return cancel(id, s) end
    store(id, s)
    if delay > 0 then
      call('ZADD', DELAYED, int(now + delay), id)
      soon(now + delay)
    else
      ready(id, generation)
    end
  end

  local function bury(id, s, why)
    store(id, s, true)
    call('ZADD', DEAD, int(now), id)
    count('dead')
    count('dead:' .. why)
  end

  local function fruitless(s)
    s[FRUITLESS] = s[FRUITLESS] + 1
    if s[FRUITLESS] == POLICY.starving then count('starving') end
  end

  -- backoff is the delay before the next attempt: it doubles with every failure.
  local function backoff(failures)
    local d, most = POLICY.backoff, POLICY.longest
    for _ = 2, failures do
      if d >= most then break end
      d = d * 2
    end
    return math.min(d, most)
  end

  -- expire takes in that the lease of a job ran out. Its claim stays open: until the next one
  -- its holder may still settle.
  local function expire(id)
    call('ZREM', LEASES, id)
    local claim = call('HGET', CLAIMS, id)
    if not claim then return end
    local tok, wanted, holder, generation, parks = parts(claim)
    local s = load(id)
    local reason, m = EXPIRED, member(holder)
    if m and m.going then reason = CUT else s[POISON] = s[POISON] + 1 end
    s[TOKEN], s[VERB], s[REASON], s[PRIOR], s[WHY] = tok, NONE, reason, tok, reason
    s[DELIVERIES] = s[DELIVERIES] + 1
    fruitless(s)
    count(reason == CUT and 'cut' or 'expired')
    if POLICY.quarantines or parks then
      store(id, s, true)
      call('ZADD', QUARANTINED, int(now), id)
      count('quarantined')
    elseif POLICY.poison > 0 and s[POISON] >= POLICY.poison then
      bury(id, s, 'poison')
    else
      putBack(id, s, 0, wanted, generation)
    end
  end

  -- sweep takes in what became so by the passing of time, a few hundred jobs at most.
  local function sweep()
    for _, id in ipairs(call('ZRANGEBYSCORE', LEASES, '-inf', int(now), 'LIMIT', '0', '200')) do expire(id) end
    local due = call('ZRANGEBYSCORE', DELAYED, '-inf', int(now), 'LIMIT', '0', '200')
    if #due > 0 then
      call('ZREM', DELAYED, unpack(due))
      for _, id in ipairs(due) do ready(id) end
    end
  end

  -- closedAs returns the verb by which a claim that is not open was settled, or nil when there
  -- is a newer one or nothing is known of it. No verb means that an operator cancelled the job.
  local function closedAs(id, tok, newer)
    if newer or tok == NOTOKEN then return nil end
    local s = call('HGET', STATE, id)
    if not s then
      local verb, last = endedAs(id)
      return verb and last == tonumber(tok) % 4503599627370496 and verb or nil
    end
    s = cmsgpack.unpack(s)
    return s[TOKEN] == tok and s[VERB] or nil
  end

  -- settle ends one claim and returns a letter: ok, repeat, closed, stale.
  local function settle(id, tok, verb, reason, delay, cursor, failure)
    local claim = call('HGET', CLAIMS, id)
    if not claim or sub(claim, 1, 16) ~= tok then
      local was = closedAs(id, tok, claim)
      if not was then return 's' end
      return was == verb and 'r' or 'c'
    end
    local _, wanted, _, generation = parts(claim)
    local leased = call('ZREM', LEASES, id) > 0
    local over = not leased and (call('ZSCORE', DEAD, id) or call('ZSCORE', QUARANTINED, id))
    if over and verb ~= ACK then return 'c' end -- expiry ended the job: only finished work brings it back
    if verb == ACK then
      if not leased then unplace(id) end
      finish(id, tok, ACK)
      count('done')
      return 'o'
    end

    local s = load(id)
    call('HDEL', CLAIMS, id)
    s[TOKEN], s[VERB], s[REASON] = tok, verb, reason
    if leased then s[DELIVERIES] = s[DELIVERIES] + 1 end -- otherwise expiry did
    if cursor then s[CURSOR], s[POISON], s[FRUITLESS] = cursor, 0, 0 end
    local ran = reason ~= LATE and reason ~= WITHDRAWN and reason ~= REFUSED and reason ~= BUSY and verb ~= REFUSE
    if ran then s[PRIOR], s[WHY] = tok, reason end
    if verb == QUARANTINE then
      if not leased then unplace(id) end
      store(id, s, true)
      call('ZADD', QUARANTINED, int(now), id)
      count('quarantined')
    elseif verb == FAIL then
      if not leased then unplace(id) end
      s[FAILURES], s[POISON], s[FRUITLESS] = s[FAILURES] + 1, 0, 0
      s[CLASS], s[MESSAGE], s[BUILD] = failure.class, failure.message, failure.build
      count('failed')
      if POLICY.failures > 0 and s[FAILURES] >= POLICY.failures then
        bury(id, s, 'failures')
      else
        putBack(id, s, backoff(s[FAILURES]) + failure.jitter, wanted, generation)
      end
    elseif reason == CANCELLED then
      if not leased then unplace(id) end
      cancel(id, s)
    else
      count(verb == REFUSE and 'refused' or 'released')
      if ran then s[POISON] = 0 end -- a handler returned
      if ran and leased then fruitless(s) end
      if leased or delay > 0 then
        if not leased then unplace(id) end
        putBack(id, s, delay, wanted, generation)
      else
        store(id, s) -- it is in the queue already
      end
    end
    return 'o'
  end

  -- eachGrant calls f for what m's newest request was granted.
  local function eachGrant(m, f)
    for tok, list in string.gmatch(m.grants, '(%d+):([%d,]+)') do
      for id in string.gmatch(list, '%d+') do f(id, tok) end
    end
  end

  return { policy = POLICY, place = place, load = load, store = store, parts = parts, asideAs = asideAs, endedAs = endedAs,
    closedAs = closedAs, unplace = unplace, placed = placed, free = free, cancel = cancel, ready = ready, expire = expire,
    sweep = sweep, settle = settle, eachGrant = eachGrant, ACK = ACK, NONE = NONE, RELEASE = RELEASE, WITHDRAWN = WITHDRAWN,
    FAILURES = FAILURES, CLASS = CLASS, MESSAGE = MESSAGE, BUILD = BUILD, PRIOR = PRIOR, WHY = WHY, DELIVERIES = DELIVERIES,
    CURSOR = CURSOR, TOKEN = TOKEN, POISON = POISON, FRUITLESS = FRUITLESS }
end)
