"""Hosts whose pages are in older charsets: declared rightly, wrongly, or not at all.

Links are ASCII in all of them, so whoever takes a page for the wrong charset still finds its links. Only
charsets that contain ASCII as it is are declared wrongly or not at all.
"""

from collections.abc import Iterable

from crawlerproj.demoweb.answers import Voice
from crawlerproj.demoweb.nuisance import Nuisance

_CHARSETS = (
    ("de", "iso-8859-1"), ("fr", "windows-1252"), ("pl", "iso-8859-2"), ("tr", "iso-8859-9"),
    ("ru", "windows-1251"), ("ru", "koi8-r"), ("el", "iso-8859-7"), ("he", "windows-1255"),
    ("ar", "windows-1256"), ("ja", "shift_jis"), ("ja", "euc-jp"), ("zh", "gb18030"), ("ko", "euc-kr"),
    ("es", "iso-8859-15"), ("de", "utf-16"), ("ja", "iso-2022-jp"),
)  # fmt: skip
_ONLY_DECLARED = ("utf-16", "iso-2022-jp")
_DECLARATIONS = ("header", "meta", "both", "none", "wrong", "contradiction")


class Charsets(Nuisance):
    """Meets a share of the hosts; charset and declaration are labels in the truth."""

    name = "charsets"
    default_share = 0.1

    def voice(self, host: int, page: int) -> Voice | None:
        if not self.meets_host(host):
            return None
        language, charset = self._charset(host)
        declaration = self._declaration(host)
        header = {"header": charset, "both": charset, "wrong": "utf-8", "contradiction": charset}
        meta = {"meta": charset, "both": charset, "wrong": "utf-8", "contradiction": "utf-8"}
        return Voice(language, charset, header.get(declaration), meta.get(declaration))

    def labels(self) -> Iterable[tuple[str, str, object]]:
        for host in filter(self.meets_host, range(self.layout.hosts)):
            language, charset = self._charset(host)
            yield "language", self.layout.names[host], language
            yield "charset", self.layout.names[host], charset
            yield "charset_declaration", self.layout.names[host], self._declaration(host)

    def _charset(self, host: int) -> tuple[str, str]:
        return _CHARSETS[int(self.layout.chance(self.salt + 1, host) * len(_CHARSETS))]

    def _declaration(self, host: int) -> str:
        if self._charset(host)[1] in _ONLY_DECLARED:
            return "header"
        return _DECLARATIONS[int(self.layout.chance(self.salt + 2, host) * len(_DECLARATIONS))]
