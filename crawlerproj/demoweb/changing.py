"""Pages whose text changes at a known rate, never their links, with validators right and wrong."""

from collections.abc import Iterable
from email.utils import formatdate

from crawlerproj.demoweb.answers import Edition
from crawlerproj.demoweb.nuisance import Nuisance

PERIODS_SECONDS = (20, 120, 3600, 86_400, 604_800)
RIGHT, ABSENT, STUCK, RESTLESS = "right", "absent", "stuck", "restless"
_VALIDATORS = (RIGHT, RIGHT, RIGHT, ABSENT, STUCK, RESTLESS)


class Changing(Nuisance):
    """Meets a share of the pages; period and validators are labels in the truth.

    Validators are right, absent, `stuck` (the same though the text has changed) or `restless` (others every
    second though it has not).
    """

    name = "changing"
    default_share = 0.2

    def edition(self, host: int, page: int, now: float) -> Edition | None:
        if not self.meets_page(host, page):
            return None
        period = self.period_seconds(host, page)
        phase = self.layout.chance(self.salt + 3, host, page)
        number = int(now / period + phase) + 1
        kind = self._validators(host, page)
        if kind == ABSENT:
            return Edition(number, None, None)
        stamp = {STUCK: 0.0, RESTLESS: float(int(now))}.get(kind, max(0.0, (number - 1 - phase) * period))
        version = int(stamp) if kind != RIGHT else number
        return Edition(number, f'"{host}-{page}-{version}"', formatdate(stamp, usegmt=True))

    def labels(self) -> Iterable[tuple[str, str, object]]:
        for host in range(self.layout.hosts):
            for page in range(1, self.layout.sizes[host]):
                if self.meets_page(host, page):
                    url = self.layout.url(host, page)
                    yield "period_seconds", url, self.period_seconds(host, page)
                    yield "validators", url, self._validators(host, page)

    def period_seconds(self, host: int, page: int) -> int:
        return PERIODS_SECONDS[int(self.layout.chance(self.salt + 1, host, page) * len(PERIODS_SECONDS))]

    def _validators(self, host: int, page: int) -> str:
        return _VALIDATORS[int(self.layout.chance(self.salt + 2, host, page) * len(_VALIDATORS))]
