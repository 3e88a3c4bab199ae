#!lua flags=allow-oom
-- Contacts are written ahead, by the owner only. ARGV: fence, then host and contact in turn.
if call('GET', at .. 'lease') ~= ARGV[1] then
  return redis.error_reply('FENCED the partition has another owner')
end
call('HSET', at .. 'c', unpack(ARGV, 2))
return 1
