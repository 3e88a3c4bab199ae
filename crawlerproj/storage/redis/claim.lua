#!lua flags=allow-oom
-- A lease for one owner at a time. ARGV: owner, claim id, ttl in ms, grace in seconds.
-- A server that came back may have forgotten a lease: nobody gets one until all it forgot have ended.
local up = tonumber(string.match(call('INFO', 'server'), 'uptime_in_seconds:(%d+)'))
if up < tonumber(ARGV[4]) then
  return false
end
local lease = call('GET', at .. 'lease')
if lease and string.match(lease, '^%d+:%x+:(.*)$') ~= ARGV[1] then
  return false
end
local fence = call('INCR', at .. 'epoch') .. ':' .. ARGV[2] .. ':' .. ARGV[1]
call('SET', at .. 'lease', fence, 'PX', ARGV[3])
return fence
