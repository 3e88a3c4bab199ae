"""Pages that come in chunks, without a length."""

from dataclasses import replace

from crawlerproj.demoweb.answers import Response
from crawlerproj.demoweb.nuisance import Nuisance


class Chunked(Nuisance):
    """Meets a share of the hosts."""

    name = "chunked"
    default_share = 0.1

    def deliver(self, host: int, page: int, response: Response) -> Response:
        return replace(response, chunked=True) if self.meets_host(host) else response
