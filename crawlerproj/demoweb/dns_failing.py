"""Hosts without an address: unknown, failing, silent, or empty."""

from dataclasses import replace

from crawlerproj.demoweb.answers import Answer, Lookup
from crawlerproj.demoweb.dns import NAME_ERROR, SERVER_FAILURE
from crawlerproj.demoweb.own_hosts import OwnHosts


class DnsFailing(OwnHosts):
    """As many hosts as a share of the ordinary ones; nothing can be fetched from them."""

    name = "dns_failing"
    default_share = 0.02
    cap = 0
    listens = False

    def own_answer(self, host: int, path: str, attempt: int) -> Answer:
        return Answer(404, "Nobody comes here")

    def lookup(self, host: int, query: int, lookup: Lookup) -> Lookup:
        if host not in self.own:
            return lookup
        kinds = (
            replace(lookup, code=NAME_ERROR),
            replace(lookup, code=SERVER_FAILURE),
            replace(lookup, is_lost=True),
            replace(lookup, addresses=()),
        )
        return kinds[(host - self.own.start) % len(kinds)]
