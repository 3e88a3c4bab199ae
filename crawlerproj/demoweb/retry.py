"""Pages whose first attempt is answered 503 or 429 with Retry-After; the second succeeds."""

from crawlerproj.demoweb.answers import Answer
from crawlerproj.demoweb.layout import mix
from crawlerproj.demoweb.nuisance import Nuisance


class Retry(Nuisance):
    """Meets a share of the pages, root pages never."""

    name = "retry"
    default_share = 0.02

    def refusal(self, host: int, page: int, attempt: int) -> Answer | None:
        if attempt > 1 or not self.meets_page(host, page):
            return None
        code = mix(self.layout.seed, self.salt + 1, host, page)
        return Answer(429 if code & 1 else 503, title="Try again later", retry_after=code >> 1 & 1)
