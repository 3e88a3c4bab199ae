"""Is a URL wanted, and how is it spelled?

Every seed and every link passes here before the frontier sees it:

- `canonical`   one spelling for each URL (WHATWG, without fragment, credentials and tracking)
- `hosts`       the parts other rooms key by: host, registered domain, politeness group, SURT
- `filters`     the rules of a crawl; a rejected URL has a reason, never an exception
- `blacklist`   hosts and URL prefixes that are never fetched
- `traps`       paths that repeat themselves
- `seeds_file`  where the first URLs come from
"""
