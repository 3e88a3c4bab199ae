"""Hosts whose pages are in other languages and scripts than English, in UTF-8."""

from collections.abc import Iterable

from crawlerproj.demoweb.answers import Voice
from crawlerproj.demoweb.languages import WORDS_OF
from crawlerproj.demoweb.nuisance import Nuisance

_LANGUAGES = tuple(WORDS_OF)


class Languages(Nuisance):
    """Meets a share of the hosts; the language is a label in the truth."""

    name = "languages"
    default_share = 0.2

    def voice(self, host: int, page: int) -> Voice | None:
        if not self.meets_host(host):
            return None
        return Voice(_LANGUAGES[int(self.layout.chance(self.salt + 1, host) * len(_LANGUAGES))])

    def labels(self) -> Iterable[tuple[str, str, object]]:
        for host in range(self.layout.hosts):
            if voice := self.voice(host, 0):
                yield "language", self.layout.names[host], voice.language
