"""Pages about topics, which link to pages about the same topic more than chance would have it."""

from collections.abc import Iterable
from functools import cached_property

from crawlerproj.demoweb.layout import mix
from crawlerproj.demoweb.nuisance import Nuisance
from crawlerproj.demoweb.subjects import SUBJECT_WORDS

_SUBJECTS = tuple(SUBJECT_WORDS)
_PAGE_SHARE = 0.7
_LINKS = 8
_TRIES = 4


class Topics(Nuisance):
    """Meets a share of the hosts: each is given to one topic, as are most of its pages (a label)."""

    name = "topics"
    default_share = 0.15

    def subject(self, host: int, page: int) -> str | None:
        if not self.meets_host(host) or self.layout.chance(self.salt + 2, host, page) >= _PAGE_SHARE:
            return None
        return self._host_subject(host)

    def extra_links(self, host: int, page: int) -> Iterable[str]:
        subject = self.subject(host, page)
        if subject is None:
            return
        hosts = self._hosts[subject]
        for link in range(_LINKS):
            for attempt in range(_TRIES):
                code = mix(self.layout.seed, self.salt + 3 + link * _TRIES + attempt, host, page)
                target = hosts[code % len(hosts)]
                number = (code >> 24) % self.layout.sizes[target]
                if self.subject(target, number) is not None:
                    yield self.layout.url(target, number)
                    break

    def labels(self) -> Iterable[tuple[str, str, object]]:
        for host in filter(self.meets_host, range(self.layout.hosts)):
            for page in range(self.layout.sizes[host]):
                if subject := self.subject(host, page):
                    yield "topic", self.layout.url(host, page), subject

    def _host_subject(self, host: int) -> str:
        return _SUBJECTS[int(self.layout.chance(self.salt + 1, host) * len(_SUBJECTS))]

    @cached_property
    def _hosts(self) -> dict[str, list[int]]:
        hosts: dict[str, list[int]] = {}
        for host in filter(self.meets_host, range(self.layout.hosts)):
            hosts.setdefault(self._host_subject(host), []).append(host)
        return hosts
