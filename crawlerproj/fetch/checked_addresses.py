"""The addresses of a host that may be contacted: a handler of any protocol connects to one of these.

The decision is taken on the address, and the connection goes to the address that was judged: a name cannot
point elsewhere in between.
"""

from __future__ import annotations

import asyncio

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import CannotResolveHostError

from .addresses import refused
from .curl_response import AddressRefusedError
from .dns import DnsError
from .resolver import resolver_of


class CheckedAddresses:
    def __init__(self, crawler: Crawler) -> None:
        self._resolver = resolver_of(crawler)
        self._timeout = crawler.settings.getfloat("DOWNLOAD_TIMEOUT", 60)
        self._private_allowed = crawler.settings.getbool("FETCH_PRIVATE_ADDRESSES")

    async def of(self, request: Request, host: str) -> list[str]:
        """At least one; what cannot be had or must not be contacted is told in Scrapy's exceptions."""
        addresses = self._resolver.cached(host)
        if addresses is None:
            if not host:
                raise CannotResolveHostError(f"{request.url}: no host in the URL")
            # The question outlives the fetch that asked it: a later one finds the answer.
            patience = request.meta.get("download_timeout") or self._timeout
            try:
                addresses = await asyncio.wait_for(self._resolver.lookup(host), patience)
            except DnsError as error:
                raise CannotResolveHostError(f"{host}: {error.reason}") from error
            except TimeoutError as error:
                raise CannotResolveHostError(f"{host}: no answer within {patience:g} s") from error
        if not addresses:
            raise CannotResolveHostError(f"{host}: no address, as asked a moment ago")
        return self.allowed(request, host, addresses)

    def allowed(self, request: Request, host: str, addresses: list[str]) -> list[str]:
        """Those of the addresses that may be contacted; an exception if there is none."""
        if self._private_allowed:
            return addresses
        allowed = [address for address in addresses if refused(address) is None]
        if not allowed:
            # Refused for what it is: asking again would not change it.
            request.meta["dont_retry"] = True
            raise AddressRefusedError(host, refused(addresses[0]) or "refused")
        return allowed
