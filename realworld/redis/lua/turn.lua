-- turn: settle what is finished and claim as many new jobs, in one step.
-- ARGV: policy, acks, others, member, seq, want, park (µs), hops, kinds; then for each ack id
-- and token, for each other settlement id, token, verb, reason, delay (µs), jitter (µs),
-- cursor ("" is none, else "c" and the cursor), class, message, build.
-- Returns codes; with a member also status: "ok" and parked (µs), token, ids, records,
-- extras; "wait" and how long (µs), whether among the newest; "refused"; "unknown".

local acks, others, who = tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4]
local codes = {}

-- What acks and claims that are all in order have no business with.
local special = call('EXISTS', STATE, UNIQUE, RANKED, ASIDE, DELAYED, WAITERS, NEWER) > 0

-- remember notes acks in the ring, those of neighbours together.
local function remember(list, tokens, n)
  local high, low, last, at
  local run, length = {}, 0
  for i = 1, n do
    local number = tonumber(list[i])
    if tokens[i] ~= last then
      last = tokens[i]
      local t = tonumber(last)
      high, low = floor(t / 1048576) % 4294967296, t % 1048576 * 4096 + 9 * 256
    end
    local place = number % RING
    if length > 0 and place ~= at + length then
      call('SETRANGE', ENDED, int(at * 8), table.concat(run, '', 1, length))
      length = 0
    end
    if length == 0 then at = place end
    length = length + 1
    run[length] = struct.pack('>I4I4', high, low + floor(number / RING) % 256)
  end
  call('SETRANGE', ENDED, int(at * 8), table.concat(run, '', 1, length))
end

if acks > 0 then
  local list, tokens = {}, {}
  for i = 1, acks do list[i], tokens[i] = ARGV[8 + 2 * i], ARGV[9 + 2 * i] end
  local held = call('HMGET', CLAIMS, unpack(list))
  local good, kept, seen, n = {}, {}, {}, 0
  for i = 1, acks do
    local id = list[i]
    if held[i] and sub(held[i], 1, 16) == tokens[i] and not seen[id] then
      n = n + 1
      good[n], kept[n], seen[id], codes[i] = id, tokens[i], true, 'o'
    end
  end
  if n > 0 then
    if call('ZREM', LEASES, unpack(good)) < n then -- a lease ran out, and the job waits to be claimed again
      for i = 1, n do jobs().unplace(good[i]) end
    end
    call('HDEL', CLAIMS, unpack(good))
    call('HDEL', DATA, unpack(good))
    if special then
      if call('EXISTS', STATE) == 1 then
        call('HDEL', STATE, unpack(good))
        call('ZREM', STARVING, unpack(good))
      end
      if call('EXISTS', UNIQUE) == 1 then
        for i = 1, n do jobs().free(good[i]) end
      end
    end
    remember(good, kept, n)
    count('done', n)
  end
  if n < acks then
    for i = 1, acks do
      if not codes[i] then codes[i] = jobs().settle(list[i], tokens[i], 1) end
    end
  end
end

local at = 10 + 2 * acks
for i = acks + 1, acks + others do
  local cursor = ARGV[at + 6]
  codes[i] = jobs().settle(ARGV[at], ARGV[at + 1], tonumber(ARGV[at + 2]), tonumber(ARGV[at + 3]), tonumber(ARGV[at + 4]),
    cursor ~= '' and sub(cursor, 2) or nil,
    { jitter = tonumber(ARGV[at + 5]), class = ARGV[at + 7], message = ARGV[at + 8], build = ARGV[at + 9] })
  special = true
  at = at + 10
end

local said = table.concat(codes)
if who == '' then return { said } end

local seq, want, park, hops = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8])
local m = member(who)
if not m then return { said, 'unknown' } end
if seq <= m.closed or m.going and seq > m.seq then
  local W = waiters()
  if W.waiting() then -- what woke this one may have been meant for another
    W.came()
    W.wake()
  end
  return { said, 'refused' }
end

local waited = m.parked > 0
if waited then waiters().came() end
if seq > m.seq then
  if waited then waiters().leave(who) end
  m.seq, m.closed, m.parked, m.lasted, m.grants, waited = seq, seq - 1, 0, 0, '', false
elseif not waited then
  local extras = claims().again(m)
  return { said, 'ok', int(m.lasted), NOTOKEN, ids, records, extras }
end
if now - m.seen > 60000000 then
  m.seen = now
  call('ZADD', SEEN, int(now), who)
end

if #call('ZRANGEBYSCORE', LEASES, '-inf', int(now), 'LIMIT', 0, 1) > 0 then special = true end
if waited then want = math.min(want, 1) end -- a job each for those who waited
if want <= 0 then
  taken = 0
elseif special then
  jobs().sweep()
  claims().take(want)
else
  local list = call('LPOP', READY, ARGV[6])
  if list then
    local found = call('HMGET', DATA, unpack(list))
    local plain = true
    for i = 1, #list do
      if not found[i] or not fits(found[i]) then
        plain = false
        break
      end
    end
    if plain then
      ids, records, taken = list, found, #list
    else
      claims().pick(list, false)
      claims().take(want)
    end
  end
end
-- Who waits for another kind passes the call on. Some take it twice, while the one it is for is
-- still on its way to the wake list, so it is passed on more often than there are waiters.
if misfits > 0 then waiters().wake(nil, 4 * (call('ZCARD', WAITERS) + call('ZCARD', NEWER))) end

if taken == 0 and want > 0 and now < (waited and m.parked or now) + park then
  if not waited then m.parked = now end
  keep(m)
  local sleep, newer = claims().wait(m, park)
  if hops > 1 and misfits == 0 then waiters().wake(nil, hops - 1) end
  return { said, 'wait', sleep, newer }
end
if waited then
  m.lasted, m.parked = now - m.parked, 0
  waiters().leave(who)
end

local fresh, extras = string.format('%016.0f', now), {}
if taken > 0 then
  local tail = ' ' .. who .. ':' .. m.generation
  local expiry, claim = int(now + tonumber(match(ARGV[1], '^%d+'))), fresh .. tail
  local held, leases, first, returned = {}, {}, ids, {}
  for i = 1, taken do
    held[2 * i - 1], held[2 * i] = ids[i], claim
    leases[2 * i - 1], leases[2 * i] = expiry, ids[i]
  end
  if next(old) then
    first = {}
    for i = 1, taken do
      local tok, extra
      if old[i] then tok, extra = claims().retoken(i) end
      if tok then
        held[2 * i] = tok .. tail
        extras[#extras + 1], returned[#returned + 1] = extra, tok .. ':' .. ids[i]
      else
        first[#first + 1] = ids[i]
      end
    end
  end
  if parkers then
    for i = 1, taken do
      if parks(records[i]) then held[2 * i] = held[2 * i] .. ' q' end
    end
  end
  call('HSET', CLAIMS, unpack(held))
  call('ZADD', LEASES, unpack(leases))
  if #first > 0 then returned[#returned + 1] = fresh .. ':' .. table.concat(first, ',') end
  m.grants = table.concat(returned, ';')
end
keep(m)
if special and waiters().waiting() and call('EXISTS', READY, RANKED) > 0 then waiters().wake() end
return { said, 'ok', int(m.lasted), fresh, ids, records, extras }
