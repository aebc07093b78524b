-- turn: settle what is finished and claim as many new jobs, in one step.
-- ARGV: policy, acks, others, member, seq, want, park (µs), hops, kinds; then for each ack id
-- and token, for each other settlement id, token, verb, reason, delay (µs), jitter (µs),
-- cursor ("" is none, else "c" and the cursor), class, message, build.
-- Returns codes; with a member also status: "ok" and parked (µs), token, ids, records,
-- extras; "wait" and how long (µs), whether among the newest; "refused"; "unknown".

if #good > 0 and not (leased == #good and not special) then
  if leased < #good then -- a lease ran out, and the job waits to be claimed again
    for _, id in ipairs(good) do jobs().unplace(id) end
  end
  call('HDEL', DATA, unpack(good))
  if call('EXISTS', STATE) == 1 then
    call('HDEL', STATE, unpack(good))
    call('ZREM', STARVING, unpack(good))
  end
  if call('EXISTS', UNIQUE) == 1 then
    for _, id in ipairs(good) do jobs().free(id) end
  end
end
for i = 1, acks do
  if not codes[i] then codes[i] = jobs().settle(ARGV[8 + 2 * i], ARGV[9 + 2 * i], 1) end
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

local park, hops = tonumber(ARGV[7]), tonumber(ARGV[8])
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
  m.seen = int(now)
  call('ZADD', SEEN, int(now), who)
end

if waited then want = math.min(want, 1) end -- a job each for those who waited
if want > 0 then
  jobs().sweep()
  if picked then claims().pick(picked, false) end
  claims().take(want)
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

local extras = {}
if taken > 0 then
  local first, returned, own = ids, {}, {}
  if next(old) then
    first = {}
    for i = 1, taken do
      if old[i] then own[i], extras[#extras + 1] = claims().retoken(i) end
      if own[i] then
        returned[#returned + 1] = own[i] .. ':' .. ids[i]
      else
        first[#first + 1] = ids[i]
      end
    end
  end
  hold(m, own)
  if #first > 0 then returned[#returned + 1] = fresh .. ':' .. table.concat(first, ',') end
  m.grants = table.concat(returned, ';')
end
keep(m)
if special and waiters().waiting() and call('EXISTS', READY, RANKED) > 0 then waiters().wake() end
return { said, 'ok', int(m.lasted), fresh, ids, records, extras }
