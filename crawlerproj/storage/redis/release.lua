#!lua flags=allow-oom
-- Gives a lease back. ARGV: fence.
if call('GET', at .. 'lease') == ARGV[1] then
  return call('DEL', at .. 'lease')
end
return 0
