#!lua
-- Settlements and what became of their hosts, once for each group number of a worker, by the owner only.
-- ARGV: fence, worker, group number, ranks, operations, file lengths.
if call('GET', at .. 'lease') ~= ARGV[1] then
  return redis.error_reply('FENCED the partition has another owner')
end
local worker, number, ranks = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
if tonumber(call('HGET', at .. 'g', worker) or 0) >= number then
  return 0
end
local settled, fronts, counts, parked = unpack(cmsgpack.unpack(ARGV[5]))
local done = -#parked / 2

for _, change in ipairs(settled) do
  local host, name, held, gone, again = unpack(change)
  local touched, emptied = {}, false
  for i = 1, #gone, 2 do
    done = done + call('LREM', run_of(host, gone[i]), 1, gone[i + 1])
    touched[gone[i]] = true
  end
  for i = 1, #again, 2 do
    local key = run_of(host, again[i])
    done = done - 1
    if call('RPUSH', key, again[i + 1]) == 1 then
      call('LPUSH', key, NAME .. name)
    end
  end
  for rank in pairs(touched) do
    local key = run_of(host, rank)
    if call('LLEN', key) <= 1 then
      call('DEL', key)
      emptied = true
    end
  end
  if emptied then
    local rank = best_rank(host, ranks)
    if not rank then
      call('ZREM', at .. 'f', host)
    elseif held == 0 and call('ZSCORE', at .. 'f', host) then
      wait_at_tail(host, rank)
    end
  end
end

for _, change in ipairs(fronts) do
  local host, name, park, wake, requeue, reason = unpack(change)
  if wake == 1 then
    call('ZREM', at .. 'w', host)
    call('HDEL', at .. 'x', host)
  end
  if park ~= '' then
    call('ZREM', at .. 'f', host)
    call('ZADD', at .. 'w', park, host)
    call('HSET', at .. 'x', host, cmsgpack.pack({ reason, name }))
  elseif not call('ZSCORE', at .. 'w', host) then
    local rank = best_rank(host, ranks)
    if not rank then
      call('ZREM', at .. 'f', host)
    elseif requeue == 1 or not call('ZSCORE', at .. 'f', host) then
      wait_at_tail(host, rank)
    end
  end
end

-- Counted where they are taken out of the runs: offered = queued + done + parked holds whatever happens,
-- also when a retry brings back what somebody else has settled meanwhile.
if done ~= 0 then
  call('HINCRBY', KEYS[1], 'c:done', done)
end
if #parked > 0 then
  call('HINCRBY', KEYS[1], 'c:parked', #parked / 2)
end
for name, by in pairs(counts) do
  call('HINCRBY', KEYS[1], 'c:' .. name, by)
end
for i = 1, #parked, 2 do
  call('HSET', at .. 'p', parked[i], parked[i + 1])
end
call('HSET', at .. 'g', worker, number)
if ARGV[6] ~= '' then
  call('HSET', at .. 'l', worker, ARGV[6])
end
return 1
