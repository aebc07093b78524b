-- introduce: make a life of a worker known to this partition. The newest two of a seat are.
-- ARGV: policy, member, generation, seat, schema of its build. Returns 1, 0 for a life that is
-- superseded, or the negative schema of what is stored when the build is too old for it.

local FORGET = 7 * 86400 * 1000000 -- lives that claimed nothing for so long
local W = waiters()
local who, generation, seat = ARGV[2], ARGV[3], 's:' .. ARGV[4]

local stored = tonumber(call('HGET', META, 'schema') or 0)
if tonumber(ARGV[5]) < stored then return -stored end

-- Long members keep these keys hash tables and skip lists however small: packed lists are
-- searched from one end, and cost more per member besides.
local long = string.rep('-', 65)
call('ZADD', LEASES, 'NX', '+inf', long)
call('HSETNX', CLAIMS, long, '')
call('HSETNX', DATA, long, '')

for _, id in ipairs(call('ZRANGEBYSCORE', SEEN, '-inf', int(now - FORGET), 'LIMIT', '0', '100')) do
  local its = call('HGET', MEMBERS, 'i:' .. id)
  if its and match(call('HGET', MEMBERS, its) or id, '%d+$') == id then call('HDEL', MEMBERS, its) end
  call('HDEL', MEMBERS, id, 'i:' .. id, 'v:' .. id)
  call('ZREM', SEEN, id)
  W.leave(id)
end

call('ZADD', SEEN, int(now), who)
if call('HEXISTS', MEMBERS, who) == 1 then return 1 end
local first, second = match(call('HGET', MEMBERS, seat) or '', '^(%d+) ?(%d*)$')
if second and second ~= '' then
  if tonumber(who) < tonumber(first) then
    call('ZREM', SEEN, who)
    return 0
  end
  call('HDEL', MEMBERS, first, 'i:' .. first, 'v:' .. first)
  call('ZREM', SEEN, first)
  W.leave(first)
  first = second
end
local lives = who
if first then lives = tonumber(first) < tonumber(who) and first .. ' ' .. who or who .. ' ' .. first end
call('HSET', MEMBERS, seat, lives, 'i:' .. who, seat, 'v:' .. who, ARGV[5])
keep({ id = who, seq = 0, closed = 0, parked = 0, lasted = 0, seen = int(now), going = false, generation = generation, grants = '' })

if tonumber(generation) > tonumber(call('HGET', META, 'newest') or -1) then
  call('HSET', META, 'newest', generation)
  if call('EXISTS', NEWER) == 1 then
    call('ZUNIONSTORE', WAITERS, 2, WAITERS, NEWER, 'AGGREGATE', 'MAX')
    call('DEL', NEWER)
  end
end
return 1
