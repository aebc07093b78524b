-- register: give a life of a worker its number. KEYS: seats, when they were seen, serial.
-- ARGV: nonce, seat. Returns the incarnation. It is never below the clock, so that a
-- failover that forgets a number does not give it twice.

local SEATS, SEEN, SERIAL = unpack(KEYS)
local int = function(n) return string.format('%.0f', n) end

for _, seat in ipairs(redis.call('ZRANGEBYSCORE', SEEN, '-inf', int(now - 30 * 86400 * 1000000), 'LIMIT', '0', '100')) do
  redis.call('ZREM', SEEN, seat)
  redis.call('HDEL', SEATS, seat)
end

local lives = redis.call('HGET', SEATS, ARGV[2]) or ''
redis.call('ZADD', SEEN, int(now), ARGV[2])
for incarnation, nonce in string.gmatch(lives, '(%d+):(%S+)') do
  if nonce == ARGV[1] then return incarnation end
end
local serial = int(math.max(tonumber(redis.call('GET', SERIAL) or 0) + 1, now))
redis.call('SET', SERIAL, serial)
local newest = string.match(lives, '(%S+)$')
redis.call('HSET', SEATS, ARGV[2], (newest and newest .. ' ' or '') .. serial .. ':' .. ARGV[1])
return serial
