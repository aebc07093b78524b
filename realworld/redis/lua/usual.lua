-- A turn in which nothing is out of the ordinary: what is acked is held, what is claimed was never
-- claimed before, and nobody waits. It is over before what deals with all the rest is made, which
-- would cost more than the turn. What it leaves undone is for turn to do.

local acks, others, who = tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4]

-- What the usual has no business with.
local special = call('EXISTS', STATE, UNIQUE, RANKED, ASIDE, DELAYED, WAITERS, NEWER) > 0

-- remember notes acks in the ring, those of neighbours together.
local function remember(list, tokens, n)
  local from = 1
  while from <= n do
    local number, tok, to = tonumber(list[from]), tokens[from], from
    local place, t = number % RING, tonumber(tok)
    while to < n and tokens[to + 1] == tok and list[to + 1] - number == to + 1 - from and place + to - from < RING - 1 do to = to + 1 end
    call('SETRANGE', ENDED, int(place * 8), string.rep(struct.pack('>I4I4', floor(t / 1048576) % 4294967296,
      t % 1048576 * 4096 + 9 * 256 + floor(number / RING) % 256), to - from + 1))
    from = to + 1
  end
end

-- Acks of open claims: a letter each, and what is left to do about them.
local codes, good, leased = {}, {}, 0
if acks > 0 then
  local list, tokens, kept = {}, {}, {}
  for i = 1, acks do list[i], tokens[i] = ARGV[8 + 2 * i], ARGV[9 + 2 * i] end
  local held = call('HMGET', CLAIMS, unpack(list))
  local n, claim, tok = 0, nil, nil
  for i = 1, acks do
    if held[i] and (held[i] == claim and tokens[i] == tok or sub(held[i], 1, 16) == tokens[i]) then
      n, claim, tok = n + 1, held[i], tokens[i]
      good[n], kept[n], codes[i] = list[i], tok, 'o'
    end
  end
  if n > 0 then
    leased = call('ZREM', LEASES, unpack(good))
    local open = call('HDEL', CLAIMS, unpack(good))
    if open < n then -- the same ack more than once: the first counts
      local seen = {}
      good, kept, n = {}, {}, 0
      for i = 1, acks do
        if codes[i] and seen[list[i]] then codes[i] = nil
        elseif codes[i] then
          n, seen[list[i]] = n + 1, true
          good[n], kept[n] = list[i], tokens[i]
        end
      end
    end
    if leased == n and not special then call('HDEL', DATA, unpack(good)) end
    remember(good, kept, n)
    count('done', n)
  end
end
local usual = others == 0 and #good == acks and leased == acks and not special
if usual and who == '' then return { string.rep('o', acks) } end

local KINDS = ARGV[9]
local ids, records, old, taken, misfits = {}, {}, {}, 0, 0

-- fits reports whether the worker understands a job. Its kinds are a line each: name, lowest
-- and highest version, and a q when expiry means quarantine. No line is everything.
local understood
local memo, head, known = {}, '\n', nil
local function fits(record)
  if sub(record, 1, #head) == head then return known end -- as the one before
  head = match(record, '^[^\n]*\n')
  known = memo[head]
  if known ~= nil then return known end
  if not understood then
    understood = {}
    for kind, low, high, parks in string.gmatch(KINDS, '([^\t\n]*)\t(%d+)\t(%d+)(q?)\n') do
      understood[kind] = { tonumber(low), tonumber(high), parks == 'q' }
    end
  end
  local kind, version = match(head, '^(.*)\t(%d+)\n$')
  local range, n = understood[kind], tonumber(version)
  known = KINDS == '' or range ~= nil and n >= range[1] and n <= range[2]
  memo[head] = known
  return known
end

-- parks reports whether expiry means quarantine for a job that fits.
local parkers = string.find(KINDS, 'q\n', 1, true)
local function parks(record) return understood[match(record, '^[^\t]*')][3] end

-- hold enters claims of what was taken, under the token fresh or the one that own has for it.
local fresh = token(now)
local function hold(m, own)
  local expiry, tail = int(now + tonumber(match(ARGV[1], '^%d+'))), ' ' .. who .. ':' .. m.generation
  local held, leases, claim = {}, {}, fresh .. tail
  for i = 1, taken do
    held[2 * i - 1], held[2 * i] = ids[i], own[i] and own[i] .. tail or claim
    leases[2 * i - 1], leases[2 * i] = expiry, ids[i]
  end
  if parkers then
    for i = 1, taken do
      if parks(records[i]) then held[2 * i] = held[2 * i] .. ' q' end
    end
  end
  call('HSET', CLAIMS, unpack(held))
  call('ZADD', LEASES, unpack(leases))
end

local m, picked = who ~= '' and member(who), nil
local seq, want = tonumber(ARGV[5]), tonumber(ARGV[6])
if usual and m and seq > m.seq and seq > m.closed and m.parked == 0 and not m.going and want > 0 and now - m.seen <= 60000000
  and #call('ZRANGEBYSCORE', LEASES, '-inf', fresh, 'LIMIT', '0', '1') == 0 then
  picked = call('LPOP', READY, ARGV[6])
  if picked then
    records = call('HMGET', DATA, unpack(picked))
    for i = 1, #picked do
      if not records[i] or not fits(records[i]) then
        usual = false
        break
      end
    end
    if usual then
      ids, taken = picked, #picked
      m.seq, m.closed, m.lasted, m.grants = seq, seq - 1, 0, fresh .. ':' .. table.concat(ids, ',')
      hold(m, old)
      keep(m)
      return { string.rep('o', acks), 'ok', '0', fresh, ids, records, old }
    end
    records = {}
  end
end
