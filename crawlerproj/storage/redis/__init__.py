"""The Redis engine: one crawl's shared state for any number of workers (Redis 7 or Valkey).

Keys, with the crawl's name before them. All keys of partition p share the hash tag {p}, those of a
slice of the tables the tag {tk}; a script never leaves its tag.

    name:format              hash    format, spelling rules, hash seed, partitions, table slices
    name:{p}:lease           string  fence:claim id:owner, with its time to live
    name:{p}:epoch           string  the highest fence so far
    name:{p}:m               hash    seen (URLs offered), sets (of fingerprints), seq (of front entries),
                                     c:NAME (counts: done, parked …)
    name:{p}:s<i>            set     64-bit URL fingerprints, small enough to stay integer sets; their
                                     number grows by linear hashing
    name:{p}:r<host><rank>   list    a host's run at one rank: the host's name, then candidates
    name:{p}:f               zset    waiting hosts by rank and sequence: the front queues
    name:{p}:c               hash    host -> last contact and ready time
    name:{p}:w               zset    parked hosts by wake time (inf: a ban)
    name:{p}:x               hash    parked host -> reason, name
    name:{p}:p               hash    fingerprint of a parked URL -> reason
    name:{p}:g               hash    worker -> number of its last group
    name:{p}:l               hash    worker -> its file lengths as of that group
    name:{tk}:m              hash    rows and hashes of each table
    name:{tk}:TABLE:<i>      hash    rows: robots, addresses, fingerprints of content …
    name:{fleet}:workers     zset    workers by the time at which they count as gone
    name:{fleet}:status      hash    worker -> what it does, as JSON
    name:{fleet}:orders      hash    worker -> what it is to do: stop, drain
    NAME:start_urls          list or set, filled by people; {NAME:start_urls}:pending: taken, not yet offered

A host key is 8 bytes, a rank one. Nothing is pickled: arguments and answers are msgpack.

What a server's death costs: nothing with `appendfsync always`. With `everysec` the last second or two
of the log: workers that live on write it again when they reconnect; what a worker wrote that died
within the same seconds is lost (pages fetched again; URLs it alone had offered found again only with
the pages that link to them). On a cluster use `always`: one node's loss is another's `done`.
"""

from crawlerproj.storage.redis.engine import RedisStorage
from crawlerproj.storage.redis.opening import open_redis

__all__ = ["RedisStorage", "open_redis"]
