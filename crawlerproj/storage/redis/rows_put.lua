#!lua
-- Writes rows of tables. ARGV[1]: {table, key, value or false, …}.
local rows = cmsgpack.unpack(ARGV[1])
for i = 1, #rows, 3 do
  local name, key, value = rows[i], rows[i + 1], rows[i + 2]
  local size = size_of(name)
  if value then
    if call('HSET', hash_of(name, key), key, value) == 1 then
      size.rows = size.rows + 1
      if size.rows > 64 * size.hashes then
        split(name, size)
      end
    end
  elseif call('HDEL', hash_of(name, key), key) == 1 then
    size.rows = size.rows - 1
  end
end
for name, size in pairs(sizes) do
  call('HSET', KEYS[1], 'rows:' .. name, size.rows, 'hashes:' .. name, size.hashes)
end
return 1
