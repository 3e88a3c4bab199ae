"""What do the ordinary pages say, and where do they point?"""

import random
from collections.abc import Sequence
from functools import lru_cache
from hashlib import shake_128
from math import exp, log
from struct import Struct

from crawlerproj.demoweb.answers import Answer, Voice
from crawlerproj.demoweb.layout import PAGE_CHILDREN, Layout, mix
from crawlerproj.demoweb.nuisance import Nuisance
from crawlerproj.demoweb.prose import PHRASES, Prose, prose
from crawlerproj.demoweb.tags import Tags, href, link

ITEMS_CACHE = 2048
NAVIGATION_LINKS = 10
OWN_LINKS = 12
FOREIGN_LINKS = 16
PAGE_PARAGRAPHS = 18
ENGLISH = Voice()
# The chances of a page, cheaper by half than a generator of their own: numbers below 2**32.
_CHANCES = Struct(f"<{OWN_LINKS + 2 * (OWN_LINKS + FOREIGN_LINKS) + PAGE_PARAGRAPHS + 2}I")


def overriding(nuisances: Sequence[Nuisance], question: str) -> list[Nuisance]:
    """Those that have an answer of their own to this question."""
    return [n for n in nuisances if getattr(type(n), question) is not getattr(Nuisance, question)]


class Pages:
    """Links and bodies of the pages of a layout, made each time they are asked for."""

    def __init__(self, layout: Layout, nuisances: Sequence[Nuisance]) -> None:
        self.layout = layout
        self._entries = overriding(nuisances, "entry")
        self._sources = overriding(nuisances, "source")
        self._extra = overriding(nuisances, "extra_links")
        self._relative = overriding(nuisances, "relative_links")
        self._heads = overriding(nuisances, "head_lines")
        self._voices = overriding(nuisances, "voice")
        self._subjects = overriding(nuisances, "subject")
        self._tags = Tags(layout, self._entry)
        self._logs = [log(size) / 2**32 for size in layout.sizes]
        self._log_hosts = log(layout.hosts) / 2**32
        self._items = lru_cache(ITEMS_CACHE)(self._make_items)

    def links(self, host: int, page: int) -> list[str]:
        """The URLs a page that is no duplicate links to, in its order, with those of the navigation twice."""
        navigation = [self._entry(host, page) for page in range(self._menu(host))]
        tags = self._body_tags(host, page, self._chances(host, page))
        return [*navigation, *map(href, tags), *navigation]

    def source(self, host: int, page: int) -> tuple[int, int] | None:
        return next(filter(None, (n.source(host, page) for n in self._sources)), None)

    def voice(self, host: int, page: int) -> Voice:
        return next(filter(None, (n.voice(host, page) for n in self._voices)), ENGLISH)

    def special(self, host: int, path: str, answer: Answer) -> bytes:
        """The body of an answer other than an ordinary page."""
        if answer.body is not None:
            return answer.body
        where = f'<p><a href="{answer.location}">here</a></p>' if answer.location else ""
        where += "".join(f'<p><a href="{link}">{link}</a></p>' for link in answer.links)
        text = ""
        if answer.status == 200:
            rng = random.Random(f"{self.layout.seed} {answer.text_key or f'{host} {path}'}")
            pool = self._prose("en", None).paragraphs
            text = "".join(f"<p>{p}</p>" for p in rng.choices(pool, k=PAGE_PARAGRAPHS))
        title = f"<title>{answer.title}</title><h1>{answer.title}</h1>"
        return f"<!DOCTYPE html><html lang=en>{title}{where}{text}</html>\n".encode()

    def _prose(self, language: str, subject: str | None) -> Prose:
        return prose(self.layout.seed, language, subject)

    def _entry(self, host: int, page: int) -> str:
        for nuisance in self._entries:
            if (entry := nuisance.entry(host, page)) is not None:
                return entry
        return self.layout.url(host, page)

    def _chances(self, host: int, page: int) -> tuple[int, ...]:
        return _CHANCES.unpack(shake_128(b"%d %d %d" % (self.layout.seed, host, page)).digest(_CHANCES.size))

    def _menu(self, host: int) -> int:
        return min(self.layout.sizes[host], NAVIGATION_LINKS)

    def _make_items(self, host: int, language: str, subject: str | None, rooted: bool) -> str:
        """The navigation as it stands in the pages of a host."""
        phrases = self._prose(language, subject).phrases
        tags = [self._tags.of(host, page) for page in range(self._menu(host))]
        return "".join(
            f"<li>{tag.rooted if rooted else tag.full}{phrases[n]}</a></li>" for n, tag in enumerate(tags)
        )

    def _body_tags(
        self, host: int, page: int, chances: tuple[int, ...], folder: str | None = None
    ) -> list[str]:
        """The opening tags of the links in the body, all in full if the page is told no `folder`."""
        layout, in_full = self.layout, self._tags.in_full
        size, logs, log_hosts = layout.sizes[host], self._logs, self._log_hosts
        own = [*layout.children(host, page)]
        if page:
            own += [0, (page - 1) // PAGE_CHILDREN]
        own += [size * chance >> 32 for chance in chances[: min(OWN_LINKS, size)]]
        if folder is None:
            tags = [in_full(host, each) for each in own]
        else:
            tags = self._tags.written(host, own, folder)
        if not page:
            tags += [in_full(child, 0) for child in layout.child_hosts(host)]
        for nuisance in self._extra:
            tags += map(link, nuisance.extra_links(host, page))
        # In-degrees of hosts, and of pages in a host, fall as 1/number: a power law.
        more = FOREIGN_LINKS + OWN_LINKS - min(OWN_LINKS, size)
        for chance, another in zip(chances[OWN_LINKS:][:more], chances[OWN_LINKS + more :], strict=False):
            target = int(exp(log_hosts * chance)) - 1
            tags.append(in_full(target, int(exp(logs[target] * another)) - 1))
        return tags

    def body(self, host: int, page: int, edition: int = 0) -> bytes:
        """The bytes of a page; each edition has a paragraph of its own."""
        source = self.source(host, page)
        if source is not None and source != (host, page):
            return self.body(*source)
        voice = self.voice(host, page)
        subject = None
        if voice.language == "en":
            subject = next(filter(None, (n.subject(host, page) for n in self._subjects)), None)
        prose = self._prose(voice.language, subject)
        chances = self._chances(host, page)
        phrases, pool = prose.phrases, prose.paragraphs
        # The same bytes on another host must mean the same links: only other pages link relatively.
        folder = self.layout.path(host, page).rpartition("/")[0] if source is None else None
        tags = self._body_tags(host, page, chances, folder)
        for nuisance in self._relative:
            tags += map(link, nuisance.relative_links(host, page))
        items = self._items(host, voice.language, subject, source is None)
        texts = [pool[len(pool) * chance >> 32] for chance in chances[-PAGE_PARAGRAPHS:]]
        if edition:
            chosen = mix(self.layout.seed, 7, edition, page) % len(pool)
            texts[0] = f"{edition}. {pool[chosen]}"
        title = f"{phrases[chances[-PAGE_PARAGRAPHS - 1] % PHRASES]} {page} - {self.layout.names[host]}"
        paragraphs = _paragraphs(texts, tags, prose.closings, chances[-PAGE_PARAGRAPHS - 2] % PHRASES)
        head = f'<meta charset="{voice.meta}">' if voice.meta else ""
        head += f"<title>{title}</title>"
        for nuisance in self._heads:
            head += "".join(nuisance.head_lines(host, page))
        return (
            f'<!DOCTYPE html>\n<html lang="{voice.language}"><head>{head}</head>\n'
            f"<body><header><nav><ul>{items}</ul></nav></header>\n<main><h1>{title}</h1>\n{paragraphs}</main>\n"
            f"<footer><ul>{items}</ul></footer></body></html>\n"
        ).encode(voice.charset, "xmlcharrefreplace")


def _paragraphs(texts: list[str], tags: list[str], closings: list[str], first: int) -> str:
    """Each with its share of the links, whose texts follow each other from the `first` on."""
    each = -(-len(tags) // len(texts))
    short = [""] * (each * len(texts) - len(tags))
    ends = [*(closings * (1 + len(tags) // PHRASES))[first : first + len(tags)], *short]
    tags = [*tags, *short]
    width = 2 * each + 4
    parts = ["<p>", "", " ", *[""] * (2 * each), "</p>\n"] * len(texts)
    parts[1::width] = texts
    for n in range(each):
        parts[2 * n + 3 :: width] = tags[n::each]
        parts[2 * n + 4 :: width] = ends[n::each]
    return "".join(parts)
