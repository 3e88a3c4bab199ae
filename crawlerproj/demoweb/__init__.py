"""A web of our own: what would a crawl of a web whose truth is known have to find?

Everything served is a pure function of (seed, hosts, pages, nuisance, port), so the same world can be
served, counted and checked by three processes that share nothing but these numbers.

- `layout.py`: the bare web: host names and addresses, power-law sizes, paths, the spanning trees.
- `nuisance.py`: what a nuisance may change; one small file for each, all listed in `catalogue.py`, which
  reads `--nuisance`. `own_pages.py`, `traps.py`, `own_hosts.py`: parents of those that add pages, endless
  families, hosts. `answers.py`: what passes between nuisances, world and servers.
- `prose.py` (with `languages.py`, `subjects.py`): paragraphs made beforehand, from which pages are put
  together. `document_files.py`: small files of other formats.
- `pages.py`: links and bodies of ordinary pages. `world.py`: the answer to a request.
- `truth.py`: which URLs a correct crawl must, may and must never fetch. `coverage.py`: which it did.
- `server.py`, `message.py`, `access_log.py`, `tls.py`, `dns.py`: the world over HTTP, TLS and DNS, on
  loopback addresses alone.
- `service.py`: binds the ports, serves until told to stop or until the parent process has died.
- `options.py`: the command line, shared by `scrapy demoweb` and `python -m crawlerproj.demoweb`.
- `process.py`: starts it as a child process and waits until it is ready.
"""
