"""Was a crawl polite? Read from the servers' side, out of an access log, whoever crawled.

- `visits.py`: what a log line says: one request or one connection that asked for nothing.
- `server_logs.py`: the same out of nginx and Apache logs.
- `rules.py`: the judge: gaps, connections, robots.txt, forbidden pages.
- `verdict.py`: what was found, as text and as JSON.

Nothing here fetches anything or knows the crawler: the judge shares no code with what it judges.
"""
