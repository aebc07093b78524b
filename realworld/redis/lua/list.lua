-- list: a page of the jobs that are dead-lettered, quarantined or starving, the earliest first.
-- ARGV: policy, what is to be done ("list", or with dead letters "redrive"), which ("dead",
-- "quarantined", "starving"), how many, after ("" is from the beginning), class, kind, build
-- ("" is any).
-- Looks at LOOK jobs at most. Returns where to go on ("" is nowhere), and for each job its
-- number and its row; of those that are redriven their numbers alone.

local LOOK = 1000
local action, set, limit, after = ARGV[2], ({ dead = DEAD, quarantined = QUARANTINED, starving = STARVING })[ARGV[3]], tonumber(ARGV[4]), ARGV[5]
local class, kind, build = ARGV[6], ARGV[7], ARGV[8]
local J = jobs()

-- Where the page begins: behind the last job of the one before; if that has gone since,
-- behind those that had been there for longer.
local start = 0
if after ~= '' then
  local score, id = match(after, '^(%d+) (%d+)$')
  local rank = call('ZRANK', set, id)
  start = rank and rank + 1 or call('ZCOUNT', set, '-inf', '(' .. score)
end

local found = call('ZRANGE', set, start, start + LOOK - 1, 'WITHSCORES')
local rows, n, at = {}, 0, 1
while at < #found and n < limit do
  local id, score = found[at], found[at + 1]
  local s, record = J.load(id), call('HGET', DATA, id)
  at = at + 2
  if record and (class == '' or class == s[J.CLASS]) and (build == '' or build == s[J.BUILD])
    and (kind == '' or kind == match(record, '^[^\t]*')) then
    n = n + 1
    rows[#rows + 1] = id
    if action == 'list' then rows[#rows + 1] = row(id, record) else revive(id, s) end
  end
  if action == 'list' or n == 0 or rows[#rows] ~= id then after = int(tonumber(score)) .. ' ' .. id end
end
local more = at <= #found or #found == 2 * LOOK
if not more then after = '' elseif after == '' then after = '0 0' end
table.insert(rows, 1, after)
return rows
