-- What the scripts of a partition share. KEYS[1] is its `m`; every other key has the same prefix.
local call, at = redis.call, string.sub(KEYS[1], 1, -2)
local RANK = 2 ^ 45 -- a front entry's score is rank * RANK + seq
local NAME = '\255' -- begins the first element of a run: its host's name

local function run_of(host, rank)
  return at .. 'r' .. host .. string.char(rank)
end

local function best_rank(host, ranks)
  for rank = 0, ranks - 1 do
    if call('EXISTS', run_of(host, rank)) == 1 then
      return rank
    end
  end
  return nil
end

-- The host waits at the tail of a front queue, and nowhere else.
local function wait_at_tail(host, rank)
  local seq = call('HINCRBY', KEYS[1], 'seq', 1)
  call('ZADD', at .. 'f', string.format('%.0f', rank * RANK + seq), host)
end

-- Linear hashing over the last digits of a fingerprint: `sets` small sets, grown one at a time.
local function lower_power(sets)
  local low = 1
  while low * 2 <= sets do
    low = low * 2
  end
  return low
end

local function place_of(fingerprint, sets, low)
  local digits = tonumber(string.sub(fingerprint, -9))
  local place = digits % (low * 2)
  if place >= sets then
    place = digits % low
  end
  return place
end

-- All about a host, and the first `head` entries of its run:
-- {name, {rank, count, …}, front score, wake, {reason, name}, contact, {rank, entry, …}}
local function host_info(host, ranks, head)
  local levels, entries, name, left = {}, {}, false, head
  for rank = 0, ranks - 1 do
    local key = run_of(host, rank)
    local length = call('LLEN', key)
    if length > 0 then
      levels[#levels + 1] = rank
      levels[#levels + 1] = length - 1
      if left > 0 or not name then
        local found = call('LRANGE', key, 0, left)
        name = string.sub(found[1], 2)
        for i = 2, #found do
          entries[#entries + 1] = rank
          entries[#entries + 1] = found[i]
        end
        left = left - (#found - 1)
      end
    end
  end
  local wake = call('ZSCORE', at .. 'w', host)
  return { name, levels, call('ZSCORE', at .. 'f', host), wake, wake and call('HGET', at .. 'x', host),
    call('HGET', at .. 'c', host), entries }
end
