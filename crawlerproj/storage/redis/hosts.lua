#!lua flags=no-writes
-- All about some hosts and the heads of their runs. ARGV: ranks, head, hosts.
local answer = {}
for i = 3, #ARGV do
  answer[#answer + 1] = host_info(ARGV[i], tonumber(ARGV[1]), tonumber(ARGV[2]))
end
return cmsgpack.pack(answer)
