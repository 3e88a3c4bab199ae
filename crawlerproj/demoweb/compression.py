"""Pages that come as gzip where the client accepts it."""

import gzip
from dataclasses import replace

from crawlerproj.demoweb.answers import Response
from crawlerproj.demoweb.nuisance import Nuisance


class Compression(Nuisance):
    """Meets a share of the hosts."""

    name = "compression"
    default_share = 0.3

    def deliver(self, host: int, page: int, response: Response) -> Response:
        if not self.meets_host(host):
            return response
        return replace(response, gzip=gzip.compress(response.body, 1, mtime=0))
