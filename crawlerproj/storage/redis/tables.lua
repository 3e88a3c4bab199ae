-- What the scripts of tables share. Rows lie in small hashes, which Redis keeps packed; their number
-- follows the number of rows, one table at a time, by linear hashing.
local call, at, sizes = redis.call, string.sub(KEYS[1], 1, -2), {}

local function size_of(name)
  local size = sizes[name]
  if not size then
    local found = call('HMGET', KEYS[1], 'rows:' .. name, 'hashes:' .. name)
    size = { rows = tonumber(found[1] or 0), hashes = tonumber(found[2] or 1), low = 1 }
    while size.low * 2 <= size.hashes do
      size.low = size.low * 2
    end
    sizes[name] = size
  end
  return size
end

local function digits_of(key)
  return tonumber(string.sub(redis.sha1hex(key), 1, 7), 16)
end

local function hash_of(name, key)
  local size, digits = size_of(name), digits_of(key)
  local place = digits % (size.low * 2)
  if place >= size.hashes then
    place = digits % size.low
  end
  return at .. name .. ':' .. place
end

local function split(name, size)
  local from, to = at .. name .. ':' .. (size.hashes - size.low), at .. name .. ':' .. size.hashes
  local rows = call('HGETALL', from)
  for i = 1, #rows, 2 do
    if digits_of(rows[i]) % (size.low * 2) == size.hashes then
      call('HDEL', from, rows[i])
      call('HSET', to, rows[i], rows[i + 1])
    end
  end
  size.hashes = size.hashes + 1
  if size.hashes == size.low * 2 then
    size.low = size.hashes
  end
end
