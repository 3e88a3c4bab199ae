"""What do the ordinary pages say, and where do they point?"""

import random
from collections.abc import Sequence
from functools import lru_cache

from crawlerproj.demoweb.answers import Answer, Voice
from crawlerproj.demoweb.layout import PAGE_CHILDREN, Layout, mix
from crawlerproj.demoweb.nuisance import Nuisance
from crawlerproj.demoweb.prose import PHRASES, Prose, prose

BODY_CACHE = 2048
ENTRY_CACHE = 65536
NAVIGATION_LINKS = 10
OWN_LINKS = 12
FOREIGN_LINKS = 16
PAGE_PARAGRAPHS = 18
ENGLISH = Voice()


def overriding(nuisances: Sequence[Nuisance], question: str) -> list[Nuisance]:
    """Those that have an answer of their own to this question."""
    return [n for n in nuisances if getattr(type(n), question) is not getattr(Nuisance, question)]


class Pages:
    """Links and bodies of the pages of a layout; made when asked for, kept in bounded caches."""

    def __init__(self, layout: Layout, nuisances: Sequence[Nuisance]) -> None:
        self.layout = layout
        self._entries = overriding(nuisances, "entry")
        self._sources = overriding(nuisances, "source")
        self._extra = overriding(nuisances, "extra_links")
        self._relative = overriding(nuisances, "relative_links")
        self._heads = overriding(nuisances, "head_lines")
        self._voices = overriding(nuisances, "voice")
        self._subjects = overriding(nuisances, "subject")
        self.body = lru_cache(BODY_CACHE)(self._render)
        self._entry = lru_cache(ENTRY_CACHE)(self._find_entry)
        self._navigation = lru_cache(BODY_CACHE)(self._make_navigation)
        self._items = lru_cache(BODY_CACHE)(self._make_items)

    def links(self, host: int, page: int) -> list[str]:
        """The URLs a page that is no duplicate links to, in its order, with those of the navigation twice."""
        navigation = self._navigation(host)
        return [*navigation, *self._body_links(host, page), *navigation]

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

    def _find_entry(self, host: int, page: int) -> str:
        for nuisance in self._entries:
            if (entry := nuisance.entry(host, page)) is not None:
                return entry
        return self.layout.url(host, page)

    def _make_navigation(self, host: int) -> list[str]:
        return [self._entry(host, page) for page in range(min(self.layout.sizes[host], NAVIGATION_LINKS))]

    def _make_items(self, host: int, language: str, subject: str | None, relative: bool) -> str:
        """The navigation as it stands in the pages of a host."""
        origin, phrases = self.layout.origins[host], self._prose(language, subject).phrases
        urls = self._navigation(host)
        hrefs = [_shorten(url, origin, origin, 1) for url in urls] if relative else urls
        return "".join(f'<li><a href="{href}">{phrases[n]}</a></li>' for n, href in enumerate(hrefs))

    def _body_links(self, host: int, page: int) -> list[str]:
        layout = self.layout
        chance = random.Random(mix(layout.seed, 5, host, page)).random
        size = layout.sizes[host]
        links = [self._entry(host, child) for child in layout.children(host, page)]
        if page == 0:
            links += [layout.url(child, 0) for child in layout.child_hosts(host)]
        else:
            links += [layout.url(host, 0), self._entry(host, (page - 1) // PAGE_CHILDREN)]
        for nuisance in self._extra:
            links += nuisance.extra_links(host, page)
        links += [self._entry(host, int(size * chance())) for _ in range(min(OWN_LINKS, size))]
        # In-degrees of hosts, and of pages in a host, fall as 1/number: a power law.
        for _ in range(FOREIGN_LINKS + OWN_LINKS - min(OWN_LINKS, size)):
            target = int(layout.hosts ** chance()) - 1
            links.append(self._entry(target, int(layout.sizes[target] ** chance()) - 1))
        return links

    def _render(self, host: int, page: int, edition: int = 0) -> bytes:
        """The bytes of a page; each edition has a paragraph of its own."""
        source = self.source(host, page)
        if source is not None and source != (host, page):
            return self.body(*source)
        voice = self.voice(host, page)
        subject = None
        if voice.language == "en":
            subject = next(filter(None, (n.subject(host, page) for n in self._subjects)), None)
        prose = self._prose(voice.language, subject)
        chance = random.Random(mix(self.layout.seed, 6, host, page)).random
        phrases = prose.phrases
        origin = self.layout.origins[host]
        folder = origin + self.layout.path(host, page).rpartition("/")[0] + "/"
        hrefs = self._body_links(host, page)
        if source is None:
            # The same bytes on another host must mean the same links: only other pages link relatively.
            hrefs = [_shorten(url, origin, folder, number) for number, url in enumerate(hrefs)]
        for nuisance in self._relative:
            hrefs += nuisance.relative_links(host, page)
        anchors = [f'<a href="{href}">{phrases[int(chance() * PHRASES)]}</a>' for href in hrefs]
        items = self._items(host, voice.language, subject, source is None)
        pool = prose.paragraphs
        texts = [pool[int(chance() * len(pool))] for _ in range(PAGE_PARAGRAPHS)]
        if edition:
            chosen = mix(self.layout.seed, 7, edition, page) % len(pool)
            texts[0] = f"{edition}. {pool[chosen]}"
        each = -(-len(anchors) // PAGE_PARAGRAPHS)
        paragraphs = "\n".join(
            f"<p>{text} {' '.join(anchors[n * each : n * each + each])}</p>" for n, text in enumerate(texts)
        )
        title = f"{phrases[int(chance() * PHRASES)]} {page} - {self.layout.names[host]}"
        head = f'<meta charset="{voice.meta}">' if voice.meta else ""
        head += f"<title>{title}</title>"
        for nuisance in self._heads:
            head += "".join(nuisance.head_lines(host, page))
        return (
            f'<!DOCTYPE html>\n<html lang="{voice.language}"><head>{head}</head>\n'
            f"<body><header><nav><ul>{items}</ul></nav></header>\n<main><h1>{title}</h1>\n{paragraphs}\n</main>\n"
            f"<footer><ul>{items}</ul></footer></body></html>\n"
        ).encode(voice.charset, "xmlcharrefreplace")


def _shorten(url: str, origin: str, folder: str, number: int) -> str:
    """A link as an author might write it: in full, from the root of the host, or from its own folder."""
    style = number % 3
    if style == 2 and url.startswith(folder) and len(url) > len(folder):
        return url[len(folder) :]
    if style and url.startswith(origin + "/"):
        return url[len(origin) :]
    return url
