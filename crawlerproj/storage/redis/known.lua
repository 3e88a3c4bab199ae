#!lua flags=no-writes
-- For each fingerprint: 0 never offered, 1 offered, or the reason it was parked for.
local sets = tonumber(call('HGET', KEYS[1], 'sets') or 1)
local low, answer = lower_power(sets), {}
for i, fingerprint in ipairs(ARGV) do
  answer[i] = call('SISMEMBER', at .. 's' .. place_of(fingerprint, sets, low), fingerprint)
  if answer[i] == 1 then
    answer[i] = call('HGET', at .. 'p', fingerprint) or 1
  end
end
return cmsgpack.pack(answer)
