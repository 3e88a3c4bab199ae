#!lua flags=no-writes
-- The next waiting hosts of some front queues, with all that is needed to draw from them.
-- ARGV: ranks, limit, head, then rank and "after" in turn. Gives {{{seq, host, info}, …} for each rank}.
local ranks, limit, head = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local answer = {}
for i = 4, #ARGV, 2 do
  local base = tonumber(ARGV[i]) * RANK
  local found = call('ZRANGEBYSCORE', at .. 'f', '(' .. string.format('%.0f', base + tonumber(ARGV[i + 1])),
    '(' .. string.format('%.0f', base + RANK), 'WITHSCORES', 'LIMIT', 0, limit)
  local hosts = {}
  for j = 1, #found, 2 do
    hosts[#hosts + 1] = { tonumber(found[j + 1]) - base, found[j], host_info(found[j], ranks, head) }
  end
  answer[#answer + 1] = hosts
end
return cmsgpack.pack(answer)
