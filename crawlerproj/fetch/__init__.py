"""May we, where is it, how fast?

robots.txt says whether a page may be asked for (`robots`, `robots_fetch`), DNS and the
address guard say where the request may go (`dns`, `dns_query`, `addresses`), politeness
says when the host may be contacted again (`politeness`), and the download handler does the
fetch. `curl_handler` with `curl_transfer`, `curl_response` and `first_byte`, `resolver`,
`middlewares` and `polite_slot` know Scrapy or libcurl; the other modules are plain: time
and randomness are handed in, and what waits, waits on the event loop.
"""
