#!lua flags=no-writes
-- Rows of tables. ARGV: table and key in turn. Gives {value or false, …}.
local answer = {}
for i = 1, #ARGV, 2 do
  answer[#answer + 1] = call('HGET', hash_of(ARGV[i], ARGV[i + 1]), ARGV[i + 1])
end
return cmsgpack.pack(answer)
