#!lua flags=allow-oom
-- ARGV: fence, ttl in ms, grace in seconds. 1: the lease is the caller's for another ttl.
local lease = call('GET', at .. 'lease')
if lease ~= ARGV[1] then
  -- Forgotten with the tail of the log? Nobody has been granted another since the server came back,
  -- so the lease with the highest number is the true one.
  local up = tonumber(string.match(call('INFO', 'server'), 'uptime_in_seconds:(%d+)'))
  local mine = tonumber(string.match(ARGV[1], '^%d+'))
  local other = lease and tonumber(string.match(lease, '^%d+')) or 0
  if up >= tonumber(ARGV[3]) or other >= mine then
    return 0
  end
  if tonumber(call('GET', at .. 'epoch') or 0) < mine then
    call('SET', at .. 'epoch', mine)
  end
end
call('SET', at .. 'lease', ARGV[1], 'PX', ARGV[2])
return 1
