#!lua
-- Takes start URLs from a list or a set; they lie in a pending list until they have been offered.
-- KEYS: the start URLs, the pending ones. ARGV: how many.
local kind = redis.call('TYPE', KEYS[1])['ok']
local found = {}
if kind == 'list' then
  found = redis.call('LPOP', KEYS[1], ARGV[1]) or {}
elseif kind == 'set' then
  found = redis.call('SPOP', KEYS[1], ARGV[1])
elseif kind ~= 'none' then
  return redis.error_reply('WRONGTYPE ' .. KEYS[1] .. ' is a ' .. kind .. ': use a list or a set')
end
if #found > 0 then
  redis.call('RPUSH', KEYS[2], unpack(found))
end
return found
