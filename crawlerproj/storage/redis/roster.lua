#!lua flags=allow-oom
-- A worker says that it is there, and learns who else is. KEYS[1]: the workers, by the time at which they
-- count as gone. ARGV: worker, time to live in ms (0: it leaves), status.
-- Gives {order or false, now in ms, {worker, status, …}}.
local call, at = redis.call, string.sub(KEYS[1], 1, -8)
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local worker, ttl = ARGV[1], tonumber(ARGV[2])
if ttl > 0 then
  call('ZADD', KEYS[1], now + ttl, worker)
  call('HSET', at .. 'status', worker, ARGV[3])
else
  call('ZADD', KEYS[1], 0, worker)
end
for _, gone in ipairs(call('ZRANGEBYSCORE', KEYS[1], '-inf', now)) do
  call('HDEL', at .. 'status', gone)
  call('HDEL', at .. 'orders', gone)
  call('ZREM', KEYS[1], gone)
end
local order = call('HGET', at .. 'orders', worker)
if order then
  call('HDEL', at .. 'orders', worker)
end
return cmsgpack.pack({ order, now, call('HGETALL', at .. 'status') })
