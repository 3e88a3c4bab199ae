#!lua
-- Newness test, enqueueing and front entry of each URL are one write. No fence: anybody may offer.
-- ARGV[1]: for each host and rank in turn host, name, rank, held, n, and n times fingerprint, entry; one
-- flat list, because making tables is most of the work. Gives a 1 for each new URL, else a 0.
local known = call('HMGET', KEYS[1], 'seen', 'sets', 'seq')
local seen, sets, seq = tonumber(known[1] or 0), tonumber(known[2] or 1), tonumber(known[3] or 0)
local low, answer = lower_power(sets), {}
local before = seen
local parked = call('EXISTS', at .. 'w') == 1
local prefix = at .. 's'

local function split()
  local from, to = at .. 's' .. (sets - low), at .. 's' .. sets
  local moving = {}
  for _, fingerprint in ipairs(call('SMEMBERS', from)) do
    if tonumber(string.sub(fingerprint, -9)) % (low * 2) == sets then
      moving[#moving + 1] = fingerprint
    end
  end
  if #moving > 0 then
    call('SREM', from, unpack(moving))
    call('SADD', to, unpack(moving))
  end
  sets = sets + 1
  if sets == low * 2 then
    low = sets
  end
end

local function score_at_tail(rank)
  seq = seq + 1
  return string.format('%.0f', rank * RANK + seq)
end

-- The run was empty: the host waits, unless it does so already or is parked.
local function wait(host, rank, held)
  if parked and call('ZSCORE', at .. 'w', host) then
    return
  end
  if call('ZADD', at .. 'f', 'NX', score_at_tail(rank), host) == 0 and held == 0 then
    if rank < math.floor(tonumber(call('ZSCORE', at .. 'f', host)) / RANK) then
      call('ZADD', at .. 'f', score_at_tail(rank), host)
    end
  end
end

local offers = cmsgpack.unpack(ARGV[1])
local i = 1
while offers[i] do
  local host, name, rank, held, last = offers[i], offers[i + 1], offers[i + 2], offers[i + 3], nil
  last = i + 4 + 2 * offers[i + 4]
  local fresh
  for j = i + 5, last, 2 do
    local fingerprint = offers[j]
    if call('SADD', prefix .. place_of(fingerprint, sets, low), fingerprint) == 1 then
      fresh = fresh or {}
      fresh[#fresh + 1] = offers[j + 1]
      answer[#answer + 1] = '1'
      seen = seen + 1
      if seen > 180 * sets then
        split()
      end
    else
      answer[#answer + 1] = '0'
    end
  end
  if fresh then
    local key = run_of(host, rank)
    if call('RPUSH', key, unpack(fresh)) == #fresh then
      call('LPUSH', key, NAME .. name)
      wait(host, rank, held)
    end
  end
  i = last + 1
end
if seen > before then
  call('HSET', KEYS[1], 'seen', seen, 'sets', sets, 'seq', seq)
end
return table.concat(answer)
